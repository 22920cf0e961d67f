"""The history as it was at a turn or a message, and the plan that was in force there."""

import json
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import PlaceError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.reset_record import KeptRun, Reset, frame
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.history_at import following_plan, history_at
from tests.support.forks import play, read, records
from tests.support.logs import append_bodies


@pytest.mark.parametrize("at", [0, 3, -1, "nobody", ""])
async def test_a_place_that_is_not_there_is_refused(tmp_path: Path, at: int | str) -> None:
    """Nothing is written; the error says which turns there are."""
    await play(tmp_path / "log", 2)
    with pytest.raises(PlaceError, match=r"turns 1 to 2|no message with the id"):
        fork_session(tmp_path / "log", at, path=tmp_path / "new")
    assert os.listdir(tmp_path) == ["log"]


async def test_a_plan_is_not_taken_for_another_history(tmp_path: Path) -> None:
    """One that was made before a reset that changed what it covers does not come along, though all it names is live."""
    await play(tmp_path / "log", 12)
    history, _ = await read(tmp_path / "log")
    ids = [message["metadata"]["message_id"] for message in history]
    plan = records(tmp_path / "log", "plan")[-1]
    gone = next(place for place in range(1, len(ids)) if ids[place] not in json.dumps(plan))
    with Transcript(tmp_path / "log") as transcript:
        found = following_plan(transcript.book, history_at(transcript).ordinals)
        assert (found or {}).get("id") == plan["id"]
    runs = KeptRun.of(0, ids[:gone]), KeptRun.of(0, ids[gone + 1 :])
    append_bodies(FileLog(tmp_path / "log"), *frame(Reset("r", "clear", "t", ids[-1], 0, len(ids) - 1, runs), []))
    with Transcript(tmp_path / "log") as transcript:
        assert len(transcript) == len(history) - 1
        assert following_plan(transcript.book, history_at(transcript).ordinals) is None
