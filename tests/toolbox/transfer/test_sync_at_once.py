"""Two machines sync with one new stick at the same time: what the other one made meanwhile is compared again."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier_module_context_persistent.clock import utc_now
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.sync_sessions import Sync
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.sync_sides import home_side, other_side
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.sync_step import What, pairs_of
from tests.support.two_homes import Home, carry


@pytest.mark.parametrize(("goes_on", "result"), [(None, What.SAME), ("desktop", What.APPEND), ("both", What.PARTED)])
def test_a_session_that_another_sync_has_made_meanwhile_is_compared_again(
    laptop: Home, desktop: Home, stick: Path, tmp_path: Path, goes_on: str | None, result: What
) -> None:
    new = tmp_path / "new"
    new.mkdir()
    laptop.says("first", "one")
    carry(new, laptop)
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    if goes_on:
        desktop.says("talk", "two")
    if goes_on == "both":
        laptop.says("talk", "another two")
    with laptop.used():
        here, there = home_side(), other_side(str(new))
        pairs = pairs_of(here.sessions(), there.sessions())
        sync = Sync(here, there, pairs, [], keep_both=False, now=utc_now)
        step = sync.plan(next(pair for pair in pairs if pair.session_id == "talk"))
    carry(new, desktop)
    with laptop.used():
        step = sync.carry_out(step)
    assert (step.what, step.is_left) == (result, goes_on == "both")
    if goes_on == "desktop":
        assert laptop.texts("talk") == ["one", "two"]
