"""A purge reaches all copies of a session, whatever record its log ends with, and the copies are in step afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_kinds import KINDS, RecordKind
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support.logs import STAMP, append_bodies
from tests.support.sweeps import proof
from tests.support.two_homes import Home, holders

KEY = "ghp_9jK2mQ7vR4xT8bN3cL6wZ1yD5sF0gH4pA2e3"
TEXTS = ("reason", "text", "title", "notice", "entry", "detail", "summary", "tags", "state")
"""Keys of control records whose values may be texts."""
Change = Callable[[Home], None]


def command(*arguments: str) -> Change:
    return lambda home: [home.run(arguments[0], "talk", *arguments[1:]), None][1]


def managed(change: Callable[[PersistentContextManager], Awaitable[object]]) -> Change:
    def make(home: Home) -> None:
        async def opened() -> None:
            async with PersistentContextManager(home.log("talk"), max_tokens=100_000) as manager:
                await change(manager)

        with home.used():
            asyncio.run(opened())

    return make


async def _again(manager: PersistentContextManager) -> None:
    messages = await manager.get_messages()
    await manager.set_messages([messages[0], {"role": "assistant", "content": f"anew {KEY}"}, messages[2]])


async def _pin(manager: PersistentContextManager) -> None:
    found = await manager.get_messages()
    await manager.pin(found[2]["metadata"]["message_id"], reason=f"it has {KEY}")


async def _system(manager: PersistentContextManager) -> None:
    async def prompt() -> str:
        return f"You know {KEY}"

    await manager.set_system_prompt_factory(prompt)
    await manager.get_messages_for_request()
    await manager.add_message({"role": "assistant", "content": "so"})


CHANGES: dict[str, Change] = {
    "nothing": lambda home: None,
    "rewind": command("rewind", "--to", "1", "--yes"),
    "rewind after it": command("rewind", "--to", "2", "--yes"),
    "clear": managed(lambda manager: manager.clear()),
    "set": managed(_again),
    "pop": managed(lambda manager: manager.pop()),
    "rename": command("rename", f"a name {KEY}"),
    "tag": command("tag", KEY),
    "hide": command("hide", "2"),
    "hide other": command("hide", "1"),
    "pin": managed(_pin),
    "compact": command("compact"),
    "system": managed(_system),
    "archive": command("archive", "--yes"),
    "purge": command("purge", "--redact", "one", "--yes"),
    "bundle": managed(
        lambda manager: manager.add_messages([{"role": "user", "content": f"{one} {KEY}"} for one in "ab"])
    ),
}
PURGES = {
    "redact": ("--redact", KEY),
    "secrets": ("--secrets",),
    "cleared": ("--cleared",),
    "everything": ("--everything",),
}


KEPT = {"cleared", "everything"}
"""The purges that leave what was said since."""


def prepared(laptop: Home, *others: Home, place: Path | str) -> None:
    """Begin a session that hides a turn, and bring it to all places."""
    laptop.says("talk", "one", f"my key is {KEY}", "three", "four")
    laptop.run("rewind", "talk", "--to", "3", "--yes")
    synced(place, laptop, *others)


def synced(place: Path | str, *homes: Home) -> None:
    for home in homes:
        home.run("sync", place, "--yes", "--all")


def check_in_step(laptop: Home, desktop: Home, place: Path | str) -> None:
    """Sync until all is in step: nothing parts, so no history becomes a session of its own."""
    for home in (laptop, desktop, laptop, desktop):
        done = home.run("sync", place, "--yes", "--all", "--keep", "both", code=None)
        assert "part at" not in done.output
        assert done.exit_code == 0, done.output
    assert laptop.sessions() == desktop.sessions() == ["talk"]
    assert "Nothing is new" in laptop.run("sync", place, "--all").output


def check_gone(*homes: Home, place: Path | str) -> None:
    """The key is nowhere, whether a log is archived or not."""
    for home in homes:
        home.run("search", KEY, "--hidden", "--all", code=1)
        assert holders(home.root, KEY) == []
    if isinstance(place, Path):
        homes[0].run("search", KEY, "--hidden", "--in", place, code=1)
        assert holders(place, KEY) == []
    else:
        homes[0].run("search", KEY, "--hidden", "--all", "--storage", place, code=1)


def purge_one_copy(home: Home, place: Path | str, where: str, purge: str) -> None:
    if where == "home":
        home.run("purge", "talk", *PURGES[purge], "--yes")
    elif isinstance(place, Path):
        home.run("purge", next(place.rglob(LOG_NAME)), *PURGES[purge], "--yes")
    else:
        home.run("purge", "talk", "--storage", place, *PURGES[purge], "--yes")


@pytest.mark.parametrize("purge", ["redact", pytest.param("everything", marks=proof)])
@pytest.mark.parametrize("change", ["rewind", "clear", "rename"])
def test_a_change_before_a_purge(laptop: Home, desktop: Home, stick: Path, change: str, purge: str) -> None:
    prepared(laptop, desktop, place=stick)
    CHANGES[change](laptop)
    synced(stick, laptop, desktop)
    purge_one_copy(laptop, stick, "home", purge)
    check_in_step(laptop, desktop, stick)
    check_gone(laptop, desktop, place=stick)
    there = next(stick.rglob(LOG_NAME)).read_bytes()
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes() == there


@proof
@pytest.mark.parametrize("purge", PURGES)
@pytest.mark.parametrize("where", ["home", "stick"])
@pytest.mark.parametrize("change", CHANGES)
def test_any_change_before_a_purge(
    laptop: Home, desktop: Home, stick: Path, change: str, where: str, purge: str
) -> None:
    prepared(laptop, desktop, place=stick)
    CHANGES[change](laptop)
    synced(stick, laptop, desktop)
    purge_one_copy(desktop, stick, where, purge)
    check_in_step(laptop, desktop, stick)
    if purge != "cleared":
        check_gone(laptop, desktop, place=stick)


@proof
@pytest.mark.parametrize("purge", PURGES)
@pytest.mark.parametrize("change", CHANGES)
def test_any_change_beside_a_purge(laptop: Home, desktop: Home, stick: Path, change: str, purge: str) -> None:
    """The other machine changed the session before it heard of the purge."""
    prepared(laptop, desktop, place=stick)
    CHANGES[change](desktop)
    shown = desktop.texts("talk")
    purge_one_copy(laptop, stick, "home", purge)
    check_in_step(laptop, desktop, stick)
    if purge not in KEPT:
        check_gone(laptop, desktop, place=stick)
        assert laptop.texts("talk") == [text.replace(KEY, "[redacted]") for text in shown]


@proof
@pytest.mark.parametrize("purge", PURGES)
@pytest.mark.parametrize("kind", [*sorted(KINDS.keys() - {"header", "reset_begin", "reset_commit"}), "unknown"])
def test_any_record_before_a_purge(laptop: Home, desktop: Home, stick: Path, kind: str, purge: str) -> None:
    """Each kind of control record, with the text in every field of it that is a text; resets are changes above."""
    prepared(laptop, desktop, place=stick)
    with closing(FileLog(laptop.log("talk"))) as log:
        texts = {key: f"of {key} {KEY}" for key in TEXTS}
        append_bodies(log, encode_control(kind, id="r1", time=STAMP, **texts))
    synced(stick, laptop, desktop)
    purge_one_copy(laptop, stick, "home", purge)
    check_in_step(laptop, desktop, stick)
    if purge != "cleared" and not KINDS.get(kind, RecordKind()).permanent:
        check_gone(laptop, desktop, place=stick)


@proof
@pytest.mark.parametrize("purge", PURGES)
@pytest.mark.parametrize("where", ["home", "database"])
@pytest.mark.parametrize("change", ["rewind", "clear", "set", "rename", "hide", "pin", "compact", "archive"])
def test_any_change_before_a_purge_over_a_database(
    laptop: Home, desktop: Home, storage: str, change: str, where: str, purge: str
) -> None:
    prepared(laptop, desktop, place=storage)
    CHANGES[change](laptop)
    synced(storage, laptop, desktop)
    purge_one_copy(desktop, storage, where, purge)
    check_in_step(laptop, desktop, storage)
    if purge != "cleared":
        check_gone(laptop, desktop, place=storage)
