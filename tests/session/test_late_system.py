"""`late_system: auto`: a log keeps showing late system messages as it began."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.logs import STAMP, append_bodies
from tests.support.recorded_sessions import Recorded, assert_proved

GO, RULE = {"role": "user", "content": "go"}, {"role": "system", "content": "Rule."}
AS_REMINDER = ("user", "<system-reminder>\nRule.\n</system-reminder>")
AS_SYSTEM = ("system", "Rule.")


def shown(view: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What views show of the messages."""
    return [(message["role"], message["content"]) for message in view]


def older_log(path: Path) -> Path:
    """A log whose header does not say how late system messages are shown."""
    with closing(FileLog(str(path))) as log:
        header = encode_control("header", version=2, log_id="old", session_id=None, tokenizer="estimate", created=STAMP)
        append_bodies(log, header, encode_message(GO, message_id="m1", timestamp=STAMP))
    return path


async def begun(path: Path, **config: Any) -> Recorded:
    """A session with a late system message."""
    session = Recorded(path, **config)
    await session.add(GO, RULE)
    await session.view()
    return session


async def test_a_new_log_shows_reminders(tmp_path: Path) -> None:
    """Also after a restart; the receipts prove it, and a later process with another default would keep it."""
    session = await begun(tmp_path / "log.jsonl")
    await session.restart()
    await session.view()
    await session.prove()
    assert [shown(view)[1] for view in session.views] == [AS_REMINDER, AS_REMINDER]
    with Transcript(session.path) as transcript:
        assert transcript.header["late_system"] == "reminder"


@pytest.mark.parametrize("make", [older_log, lambda path: path], ids=["older", "told"])
async def test_a_log_that_began_with_system_text_keeps_it(tmp_path: Path, make: Any) -> None:
    """One from before there was a choice, and one that was begun with `late_system: system`."""
    path = make(tmp_path / "log.jsonl")
    first = await begun(path, late_system="system")
    await first.manager.close()
    session = Recorded(path)
    view = await session.view()
    await session.manager.close()
    assert AS_SYSTEM in shown(view)
    assert_proved(path, [*first.views, *session.views])


@pytest.mark.parametrize("chosen", ["system", "reminder"])
async def test_what_is_configured_holds(tmp_path: Path, chosen: str) -> None:
    """Whatever the log began with."""
    session = await begun(older_log(tmp_path / "log.jsonl"), late_system=chosen)
    await session.manager.close()
    assert (AS_REMINDER in shown(session.views[-1])) == (chosen == "reminder")


async def test_copies_forks_and_imports_keep_it(tmp_path: Path) -> None:
    """A fork of an older log stays as it was, one of a newer too; what is imported begins anew."""
    older, newer = older_log(tmp_path / "older.jsonl"), tmp_path / "newer.jsonl"
    await (await begun(newer)).manager.close()
    for path, kept in ((older, AS_SYSTEM), (newer, AS_REMINDER)):
        copied = tmp_path / f"copied-{path.name}"
        copy_log(str(path), str(copied))
        forked = fork_session(path, path=tmp_path / f"forked-{path.name}").path
        for one in (copied, Path(forked)):
            session = await begun(one)
            await session.manager.close()
            assert shown(session.views[-1])[-1] == kept
    (tmp_path / "given.jsonl").write_text('{"role": "user", "content": "go"}\n')
    imported = import_session(tmp_path / "given.jsonl", path=tmp_path / "imported.jsonl").path
    session = await begun(Path(imported))
    await session.manager.close()
    assert shown(session.views[-1])[-1] == AS_REMINDER
