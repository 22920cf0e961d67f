"""The floor: what a draft holds that cannot be compacted, by name."""

from amplifier_module_context_persistent.compaction.floor import floor, pinned
from tests.support.drafts import draft


def test_every_token_of_a_draft_has_one_name() -> None:
    """System text, pins, the last human message, the newest messages and the rest add up to the draft."""
    made = draft("s:10 a:90 a:40! u:20 a:30 a:5", 1_000)
    named = floor(made)
    assert sum(named.values()) == made.total_tokens == 195
    assert named["system messages"] == 10
    assert named["pins"] == 40
    assert named["last human message"] == 20
    assert named["system prompt, tools and overhead"] == 0
    assert named["newest messages"] > 0
    assert named["other messages"] >= 90


def test_what_is_left_out_has_no_name() -> None:
    """The floor is of what stays."""
    made = draft("u:10 a:90 a:30 u:5", 1_000)
    before = floor(made)
    made.drop(1)
    assert sum(floor(made).values()) == sum(before.values()) - 90


def test_pins_are_told_with_their_groups() -> None:
    """A pinned result holds its call, too."""
    made = draft("u:10 t:90! a:40! u:5", 1_000)
    assert pinned(made) == [("m1", 90), ("m2", 40)]
    made.drop(2)
    assert pinned(made) == [("m1", 90)]
