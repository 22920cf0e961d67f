"""A transcript that was cut outside the session is noticed at the resume, and the person is told what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support import real_sessions
from tests.support.messages import Message, fill, user
from tests.support.real_sessions import Display
from tests.support.resumed_sessions import transcript_of
from tests.support.sweeps import proof

NOW = "2026-05-01T12:00:00.500Z"
NOW_S = 1777636800.5


class Host:
    """A session in its directory, and what its person is shown."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.log = directory, directory / LOG_NAME
        self.display = Display()
        self.told = real_sessions.Host(display=self.display)

    def open(self) -> PersistentContextManager:
        return PersistentContextManager(self.log, coordinator=self.told, session_id="s1", now=lambda: NOW)

    @property
    def events(self) -> list[tuple[str, int, int]]:
        told = self.told.of("context:transcript_edited")
        return [(one["kind"], one["given_messages"], one["stored_messages"]) for one in told]

    async def resume(self, turns: int, *, times: int = 1) -> None:
        """Set a transcript that ends after some turns; the history stays whole."""
        async with self.open() as manager:
            history = await manager.get_messages()
            for _ in range(times):
                await manager.set_messages(transcript_of(history)[: 2 * turns])
            assert await manager.get_messages() == history


@pytest.fixture
async def host(tmp_path: Path) -> Host:
    host = Host(tmp_path / "sessions" / "s1")
    async with host.open() as manager:
        for number in range(1, 4):
            messages: list[Message] = [user(f"question {number}"), {"role": "assistant", "content": f"answer {number}"}]
            await fill(manager, messages)
    transcript = host.directory / "transcript.jsonl"
    transcript.write_text("{}\n", encoding="utf-8")
    os.utime(transcript, (NOW_S, NOW_S))
    return host


@proof(quick=1)
@pytest.mark.parametrize("kind", ["rewind", "repair"])
async def test_the_hosts_script_is_noticed_by_the_file_that_it_keeps(host: Host, kind: str) -> None:
    """Once in a process, with the command that does it for good."""
    (host.directory / f"transcript.jsonl.bak-pre-{kind}-20260501120500").touch()
    await host.resume(1, times=3)
    assert host.events == [(kind, 2, 6)]
    ((text, level, _),) = host.display.shown
    assert level == "warning"
    assert "the log still has all 6 messages" in text
    assert text.endswith(f"context-persistent rewind {host.log} --to 1")


async def test_a_directory_that_may_not_be_listed_does_not_fail_the_resume(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with the rights `-wx`; then the transcript's own time says whether it was edited."""
    list_directory = Path.iterdir

    def refuse(path: Path) -> Any:
        if path == host.directory:
            raise PermissionError(13, "Permission denied", str(path))
        return list_directory(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    os.utime(host.directory / "transcript.jsonl", (NOW_S + 3600, NOW_S + 3600))
    await host.resume(1)
    assert host.events == [("edit", 2, 6)]


async def test_a_file_that_was_cut_by_hand_is_noticed_by_its_time(host: Host) -> None:
    """The host would have saved all turns at that time."""
    os.utime(host.directory / "transcript.jsonl", (NOW_S + 60, NOW_S + 60))
    await host.resume(0)
    assert host.events == [("edit", 0, 6)]
    assert "/clear" in host.display.shown[0][0]


@proof
@pytest.mark.parametrize("turns", [2, 3])
async def test_a_transcript_that_lags_or_is_whole_is_no_edit(host: Host, turns: int) -> None:
    """A host that was killed has not saved the last turn; nobody cut anything."""
    await host.resume(turns)
    assert (host.events, host.display.shown) == ([], [])


async def test_an_older_edit_is_no_news(host: Host) -> None:
    """The session went on after it, and the host saved its transcript since."""
    (host.directory / "transcript.jsonl.bak-pre-rewind-20260430120500").touch()
    await host.resume(1)
    assert host.events == []
