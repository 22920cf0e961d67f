"""An import again after a rewind, a clear or other changes here: what was hidden stays so, and nothing comes twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.record_line import decode
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.imports.drafts import ImportConflictError
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import Import, import_session
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import rewind_session
from tests.support.claude_entries import answers, entry, says, text
from tests.support.commands import run
from tests.support.imports import contents, history_and_view, texts, write_jsonl
from tests.support.sweeps import proof

Entry = dict[str, Any]
Change = Callable[[str], Awaitable[None]]


def turns(first: int, last: int, after: str | None = None) -> list[Entry]:
    """Entries of Claude Code: in each turn a question and an answer."""
    entries = list[Entry]()
    for number in range(first, last + 1):
        entries.append(says(f"u{number}", after, f"question {number}"))
        after = f"a{number}"
        entries.append(answers(after, f"u{number}", f"msg_{number}", text(f"answer {number}"), stop="end_turn"))
    return entries


def said(first: int, last: int) -> list[str]:
    numbers = range(first, last + 1)
    return [one for number in numbers for one in (f"user: question {number}", f"assistant: answer {number}")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A session of four turns, before it is imported."""
    return write_jsonl(tmp_path / "talk.jsonl", turns(1, 4))


def imported(source: Path) -> Import:
    return import_session(source, path=source.with_name("log.jsonl"))


def write(log: str, content: bytes) -> None:
    Path(log).write_bytes(content)


async def live(log: str) -> list[str]:
    history, _ = await history_and_view(log)
    assert verify_log(log).is_sound
    return texts(history)


def ids(log: str) -> Counter[str]:
    """How often each message is in a log, live or hidden."""
    lines = map(decode, contents(log).splitlines())
    return Counter(line["metadata"]["message_id"] for line in lines if "role" in line)


async def rewound(log: str) -> None:
    rewind_session(log, 2)


async def cleared(log: str) -> None:
    async with PersistentContextManager(log, durability="write") as manager:
        await manager.clear()


async def went_on(log: str) -> None:
    """Two turns are rewound, and two are added: the session has as many messages as its source."""
    rewind_session(log, 2)
    async with PersistentContextManager(log, durability="write") as manager:
        for number in (1, 2):
            await manager.add_message({"role": "user", "content": f"own {number}"})
            await manager.add_message({"role": "assistant", "content": f"own answer {number}"})


async def say(log: str, words: str) -> None:
    async with PersistentContextManager(log, durability="write") as manager:
        await manager.add_message({"role": "user", "content": words})


async def hidden(log: str) -> None:
    run("hide", log, "1")
    run("compact", log, "--budget", "4000")
    async with PersistentContextManager(log, durability="write", max_tokens=10_000) as manager:
        await manager.get_messages_for_request(provider="somebody")


KEPT: dict[Change, list[str]] = {
    rewound: said(1, 2),
    cleared: [],
    went_on: [*said(1, 2), "user: own 1", "assistant: own answer 1", "user: own 2", "assistant: own answer 2"],
    hidden: said(1, 4),
}


@proof(quick=2)
@pytest.mark.parametrize("change", KEPT)
async def test_an_import_again_changes_nothing_of_a_session_that_was_changed_here(source: Path, change: Change) -> None:
    log = imported(source).path
    await change(log)
    before = contents(log)
    for _ in range(2):
        report = imported(source)
        assert report.added == 0
        assert report.hidden_here == {rewound: 4, cleared: 8, went_on: 4, hidden: 0}[change]
        assert contents(log) == before
    assert await live(log) == KEPT[change]


@pytest.mark.parametrize("change", [rewound, cleared, hidden])
async def test_only_what_is_new_in_the_source_is_added(source: Path, change: Change) -> None:
    """What was hidden stays hidden, also at the next imports."""
    log = imported(source).path
    await change(log)
    for last in (5, 6):
        write_jsonl(source, turns(1, last))
        assert imported(source).added == 2
        assert imported(source).added == 0
        assert await live(log) == [*KEPT[change], *said(5, last)]
        assert set(ids(log).values()) == {1}
    rewind_session(log, 1)
    assert imported(source).added == 0
    assert set(ids(log).values()) == {1}


async def test_a_session_that_went_on_here_after_a_rewind_keeps_what_was_said(source: Path) -> None:
    """If its source went on, too, the import is refused."""
    log = imported(source).path
    await went_on(log)
    before = contents(log)
    write_jsonl(source, turns(1, 5))
    with pytest.raises(ImportConflictError, match="went on here after 4 messages"):
        imported(source)
    assert contents(log) == before


async def test_a_compaction_of_the_source_after_a_rewind_here_gives_a_valid_view(source: Path) -> None:
    """The plan of the source is about messages that are hidden here."""
    log = imported(source).path
    rewind_session(log, 2)
    boundary = entry("system", "c1", "a4", subtype="compact_boundary")
    summary = says("s1", "c1", "a summary of all", isCompactSummary=True)
    write_jsonl(source, [*turns(1, 4), boundary, summary, *turns(5, 6, "s1")])
    assert imported(source).added == 4
    assert await live(log) == [*said(1, 2), *said(5, 6)]
    _, view = await history_and_view(log)
    assert texts(view)[-4:] == said(5, 6)


@proof
async def test_a_killed_addition_after_a_rewind_is_finished(source: Path) -> None:
    """Wherever it was killed, the next import adds what is missing, and nothing twice."""
    log = imported(source).path
    rewind_session(log, 2)
    kept = contents(log)
    write_jsonl(source, turns(1, 6))
    imported(source)
    added = contents(log).removeprefix(kept).splitlines(keepends=True)
    for count in range(1, len(added)):
        write(log, kept + b"".join(added[:count]))
        imported(source)
        assert await live(log) == [*said(1, 2), *said(5, 6)], count
        assert set(ids(log).values()) == {1}, count


@proof
async def test_a_killed_rewind_of_the_source_is_finished(source: Path) -> None:
    """The import hides what the source has no more; killed at any record, the next one brings it to the same end."""
    log = imported(source).path
    kept = contents(log)
    other = [says("u9", "a2", "another question"), answers("a9", "u9", "msg_9", text("ok"), stop="end_turn")]
    write_jsonl(source, [*turns(1, 2), *other, *[{"type": "file-history-snapshot"}] * 9])
    imported(source)
    wanted = await live(log)
    assert wanted == [*said(1, 2), "user: another question", "assistant: ok"]
    added = contents(log).removeprefix(kept).splitlines(keepends=True)
    for count in range(1, len(added)):
        write(log, kept + b"".join(added[:count]))
        imported(source)
        assert await live(log) == wanted, count


@proof(quick=2)
@pytest.mark.parametrize("written", range(1, 6))
async def test_a_session_that_went_on_here_after_a_killed_import_keeps_what_was_said(
    source: Path, written: int
) -> None:
    """The killed import announced more than it wrote, so what a person said is among what it announced."""
    log = imported(source).path
    kept = contents(log)
    write_jsonl(source, turns(1, 7))
    imported(source)
    added = contents(log).removeprefix(kept).splitlines(keepends=True)
    write(log, kept + b"".join(added[: 1 + written]))
    await say(log, "own")
    before = contents(log)
    with pytest.raises(ImportConflictError, match="went on here"):
        imported(source)
    assert contents(log) == before


async def test_a_rewind_of_the_source_after_a_second_import_is_followed(source: Path) -> None:
    """What the second import added is not what a person said here."""
    imported(source)
    write_jsonl(source, turns(1, 6))
    log = imported(source).path
    other = [says("u9", "a5", "another question"), answers("a9", "u9", "msg_9", text("ok"), stop="end_turn")]
    write_jsonl(source, [*turns(1, 5), *other, *[{"type": "file-history-snapshot"}] * 9])
    imported(source)
    assert await live(log) == [*said(1, 5), "user: another question", "assistant: ok"]


async def test_other_words_under_the_number_of_a_hidden_message_come_in(tmp_path: Path) -> None:
    """A source without ids names messages by their numbers."""
    body = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"text {at}"} for at in range(6)]
    source = write_jsonl(tmp_path / "talk.jsonl", [{"model": "gpt-5", "messages": body}])
    log = imported(source).path
    rewind_session(log, 1)
    other = [*body[:4], {"role": "user", "content": "other words"}, {"role": "assistant", "content": "other answer"}]
    write_jsonl(source, [{"model": "gpt-5", "messages": other}])
    assert imported(source).added == 2
    assert (await live(log))[2:] == ["user: other words", "assistant: other answer"]


def test_what_stays_hidden_is_told(source: Path, home: Path) -> None:
    run("import", source, "-o", home / "log.jsonl")
    run("rewind", home / "log.jsonl", "2", "--yes")
    assert (
        "4 messages of it are hidden here by a rewind or a clear, and stay so"
        in run("import", source, "-o", home / "log.jsonl").stdout
    )


async def test_what_a_killed_import_lacked_comes_after_a_purge(source: Path) -> None:
    """The header of the killed import names more messages than it wrote."""
    log = imported(source).path
    kept = contents(log)
    write_jsonl(source, turns(1, 6))
    imported(source)
    added = contents(log).removeprefix(kept).splitlines(keepends=True)
    write(log, kept + b"".join(added[:2]))
    run("purge", log, "--redact", "question 1", "--yes")
    imported(source)
    assert (await live(log))[2:] == said(2, 6)
