"""Whether this process was forked; `test_reader`, `test_group_commit` and `test_file_writers` test what follows."""

import os

import pytest

from amplifier_module_context_persistent.log.process_forks import forks
from tests.support.logs import in_a_fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_the_number_grows_in_the_child_alone() -> None:
    """Once for each fork, also in the child of a child."""
    before = forks.count

    def child() -> bool:
        return forks.count == before + 1 and in_a_fork(lambda: forks.count == before + 2)

    assert in_a_fork(child)
    assert forks.count == before
