"""All interleavings of two writers, a reader, resets, a purge and a power cut, in the small."""

from tests.support.small_scope import explore
from tests.support.sweeps import proof, whole


@proof
def test_every_interleaving_of_few_operations_is_a_plain_list() -> None:
    """Each operation after each other, interrupted before every system call by each other one, or by a power cut."""
    each = 1 if whole() else 6
    counts = explore(2, each)
    assert counts.histories > 1_000 // each
    assert counts.crashes > 200 // each
    assert counts.images > counts.crashes
    assert counts.refused > 100 // each
    print(counts)
