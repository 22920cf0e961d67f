"""Importing files in tests: write one, import it, and check what every import promises."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.record_line import decode
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import Import, import_session
from tests.support.checker import assert_valid
from tests.support.messages import Message


def write_jsonl(path: Path, entries: Iterable[Any], end: str = "\n") -> Path:
    """A file of entries; texts are written as they are."""
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(("\n".join(lines) + end).encode("utf-8", "surrogateescape"))
    return path


def imported(source: Path, path: Path | None = None, **options: Any) -> Import:
    """Import a file and check that every line is accounted for, that logs are sound, and that nothing is new twice."""
    target = path or source.parent / "imported" / f"{source.stem}.jsonl"
    report = import_session(source, path=target, **options)
    account = report.account
    assert account.lines == account.accounted, account.to_json()
    assert len(account.lost) == account.lost_lines + account.lost_parts
    for session in report.sessions:
        assert verify_log(session.path).is_sound
    assert import_session(source, path=target, **options).added == 0
    return report


def contents(path: str | Path) -> bytes:
    """The bytes of a file."""
    return Path(path).read_bytes()


def records(path: str | Path, kind: str) -> list[Message]:
    """The control records of a kind in a log."""
    lines = Path(path).read_bytes().splitlines()
    return [record for line in lines if (record := decode(line)).get("_record") == kind]


async def history_and_view(path: str | Path, *, is_well_formed: bool = True) -> tuple[list[Message], list[Message]]:
    """What a session that goes on with a log has, and what it would send; the view keeps all rules of providers.

    Of a history that is not well formed, a view may show a person's last message in another form.
    """
    manager = PersistentContextManager(path, durability="write")
    history = await manager.get_messages()
    view = await manager.get_messages_for_request(provider="somebody")
    assert_valid(view, history=history if is_well_formed else None)
    await manager.close()
    return history, view


async def imported_history(
    path: Path, entries: Iterable[Any], **options: Any
) -> tuple[Import, list[Message], list[Message]]:
    """Write entries to a file and import it as `imported` does; the report, the history and the view of the session."""
    report = imported(write_jsonl(path, entries, **options))
    return (report, *await history_and_view(report.path))


def texts(messages: Iterable[Message]) -> list[str]:
    """What messages say, in short: role and text, or the names of the tools that are called."""
    told = []
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        said = " ".join(str(block.get("text") or block["type"]) for block in blocks if block.get("text") != "")
        called = " ".join(call["tool"] for call in message.get("tool_calls", ()))
        told.append(f"{message['role']}: {f'{said} {called}'.strip()}")
    return told
