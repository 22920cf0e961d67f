"""The session store of the Claude Agent SDK: its own conformance suite, its own mirror, hostile ids, kills."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sdk = pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed (the extra `kits`)")

from claude_agent_sdk._internal import session_resume  # noqa: E402
from claude_agent_sdk._internal.session_store import InMemorySessionStore  # noqa: E402
from claude_agent_sdk._internal.transcript_mirror_batcher import TranscriptMirrorBatcher  # noqa: E402
from claude_agent_sdk.testing import run_session_store_conformance  # noqa: E402

from amplifier_module_context_persistent import PersistentContextManager  # noqa: E402
from amplifier_module_context_persistent.adapters.claude_agent_sdk import PersistentSessionStore  # noqa: E402
from tests.support.claude_entries import answers, calls, results, says, text  # noqa: E402
from tests.support.kit_kills import kill_again_and_again  # noqa: E402
from tests.support.places import ROOT  # noqa: E402
from tests.support.sweeps import proof, whole  # noqa: E402

KEY = {"project_key": "-home-u-app", "session_id": "5f0e1a2b-0000-4000-8000-000000000001"}
LONG = "A paragraph that is longer than a reference to it. " * 20


def conversation(turns: int, uuid: str = "u") -> list[dict[str, Any]]:
    """What Claude Code writes: questions, calls, results, thinking, an image, titles without a uuid, a summary."""
    entries: list[dict[str, Any]] = [{"type": "mode", "mode": "normal", "sessionId": KEY["session_id"]}]
    parent = None
    for n in range(turns):
        ids = [f"{uuid}{n}-{part}" for part in "abcde"]
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K" * 20}}
        thinking = {"type": "thinking", "thinking": f"Let me see {n}. {LONG}", "signature": "c2ln" * 30}
        entries += [
            says(ids[0], parent, f"question {n}" if n % 2 else [text(f"question {n} {LONG}"), image]),
            answers(ids[1], ids[0], f"msg_{n}", thinking),
            answers(ids[2], ids[1], f"msg_{n}", text(f"I read {n}."), calls(f"toolu_{n}"), stop="tool_use"),
            results(
                ids[3], ids[2], (f"toolu_{n}", f"content of {n}\n{LONG}"), toolUseResult={"file": {"content": LONG}}
            ),
            answers(ids[4], ids[3], f"msg_{n}x", text(f"answer {n}"), stop="end_turn"),
            {"type": "ai-title", "aiTitle": f"Title {n}", "sessionId": KEY["session_id"]},
        ]
        parent = ids[4]
    return entries


ODD: list[dict[str, Any]] = [
    {"type": "x", "uuid": "o1", "$": ["a"], "deep": {"$": {"is": 1}, "json": "compact"}, "n": None, "f": 1.0, "i": 1},
    {"type": "user", "uuid": "o2", "message": {"role": "user", "content": 5}},
    {"type": "user", "uuid": "o3", "message": {"role": "alien", "content": "hello"}},
    {
        "type": "assistant",
        "uuid": "o4",
        "message": {"role": "assistant", "content": [{"type": "new_block", "x": LONG}]},
    },
    {"type": "user", "uuid": "o5", "message": {"role": "user", "content": [], "metadata": {"message_id": "o1"}}},
    {"type": "user", "uuid": "o6", "message": {"role": "user", "content": "lone \ud83d \x00 \u2028", "_crc": "x"}},
    {"type": "summary", "summary": "before", "leafUuid": "o6", "big": 2**70, "text": json.dumps({"a": LONG})},
    {"type": "queue-operation", "uuid": 7, "content": "x" * 100, "_record": "header", "role": "user", "metadata": 3},
]


def log_in(directory: Path) -> Path:
    (log,) = directory.glob("*/sessions/*/context-messages.jsonl")
    return log


def in_order(entries: list[dict[str, Any]]) -> str:
    return json.dumps(entries)


async def test_the_sdks_own_conformance_suite(new_place: Callable[[], str]) -> None:
    """All 14 contracts, with nothing skipped."""
    stores: list[PersistentSessionStore] = []

    def fresh() -> PersistentSessionStore:
        stores.append(PersistentSessionStore(new_place()))
        return stores[-1]

    await run_session_store_conformance(fresh)
    for store in stores:
        await store.close()


async def test_entries_come_back_as_they_were(place: str) -> None:
    """Deep-equal, in order, with the order of their keys, also in another process; the caller's are not altered."""
    given = [*conversation(4), *ODD]
    before = copy.deepcopy(given)
    store = PersistentSessionStore(place)
    for at in range(0, len(given), 5):
        await store.append(KEY, given[at : at + 5])
    assert given == before
    assert await store.load(KEY) == given
    await store.close()
    again = PersistentSessionStore(place)
    assert in_order(await again.load(KEY)) == in_order(given)
    await again.close()


async def test_nothing_long_is_stored_twice(tmp_path: Path) -> None:
    """An entry costs its own bytes and little more, although it is read as a message, too."""
    given = conversation(20)
    store = PersistentSessionStore(tmp_path)
    await store.append(KEY, given)
    await store.close()
    log = log_in(tmp_path)
    assert log.stat().st_size < 1.35 * len("\n".join(map(json.dumps, given)))


async def test_an_entry_that_is_appended_again_is_stored_once(place: str) -> None:
    """A batch that is tried again, also in part, by this process or another one; without a uuid it is kept again."""
    given = conversation(3)
    one, other = PersistentSessionStore(place), PersistentSessionStore(place)
    await one.append(KEY, given[:7])
    await other.append(KEY, given[3:])
    await one.append(KEY, given)
    loaded = await other.load(KEY)
    with_ids = [entry["uuid"] for entry in loaded if "uuid" in entry]
    assert with_ids == [entry["uuid"] for entry in given if "uuid" in entry]
    without = [entry for entry in [*given[:7], *given[3:], *given] if "uuid" not in entry]
    assert sum("uuid" not in entry for entry in loaded) == len(without)
    await one.close()
    await other.close()


async def test_an_entry_that_is_appended_several_times_at_once_is_stored_once(tmp_path: Path) -> None:
    """A batch that was tried again before its first try ended is compared with that one, too."""
    given = [entry for entry in conversation(2) if "uuid" in entry]
    store = PersistentSessionStore(tmp_path)
    first = says("first", None, "keeps the log at work while the others come")
    await asyncio.gather(store.append(KEY, [first]), *(store.append(KEY, given[at:]) for at in (0, 0, 3, 1)))
    assert await store.load(KEY) == [first, *given]
    await store.close()


async def test_an_answer_is_billed_once(tmp_path: Path) -> None:
    """Its usage is counted with the first of its entries, also when several batches bring them."""
    entries = [
        says("q", None, "look"),
        answers("a1", "q", "msg_1", text("I look.")),
        answers("a2", "a1", "msg_1", calls("t1")),
        results("r1", "a2", ("t1", "found")),
        answers("a3", "r1", "msg_1", calls("t2")),
        results("r2", "a3", ("t2", "found")),
        answers("a4", "r2", "msg_2", text("Done.")),
    ]
    for number, size in enumerate((1, 2, len(entries))):
        store = PersistentSessionStore(tmp_path / str(number))
        for at in range(0, len(entries), size):
            await store.append(KEY, entries[at : at + size])
            await store.append(KEY, entries[at : at + size])  # tried again
        assert await store.load(KEY) == entries
        await store.close()
        async with PersistentContextManager(log_in(tmp_path / str(number))) as manager:
            billed = [message["metadata"].get("usage") is not None for message in await manager.get_messages()]
        assert billed == [False, True, False, False, False, False, True]


async def test_two_stores_append_to_one_session_at_once(place: str) -> None:
    """Each batch stays together and in order, and nothing is lost or doubled."""
    stores = [PersistentSessionStore(place) for _ in range(3)]
    batches = {n: [says(f"s{n}-{m}-{k}", None, f"{n} {m} {k}") for m in range(10) for k in range(5)] for n in range(3)}

    async def write(n: int) -> None:
        for m in range(10):
            await stores[n].append(KEY, batches[n][5 * m : 5 * m + 5])

    await asyncio.gather(*map(write, range(3)))
    loaded = [entry["uuid"] for entry in await stores[0].load(KEY)]
    assert len(loaded) == len(set(loaded)) == 150
    for at in range(0, 150, 5):
        assert [uuid[-1] for uuid in loaded[at : at + 5]] == list("01234")
        assert len({uuid[:-2] for uuid in loaded[at : at + 5]}) == 1
    for store in stores:
        await store.close()


HOSTILE = ["..", "../../x", "a/b", "a\\b", "a\0b", "x" * 300, "y" * 300, "CON", "con", "A", "a", "é"]
HOSTILE += [".", "~", "_+a", "a_+b"]


async def test_no_id_leads_out_of_the_directory(tmp_path: Path) -> None:
    """Projects, sessions and sub-agents of any name are listed by it, loaded, and deleted alone."""
    store, root = PersistentSessionStore(tmp_path / "root"), tmp_path / "root"
    keys = [{"project_key": name, "session_id": name} for name in HOSTILE]
    keys += [{"project_key": "p", "session_id": name} for name in HOSTILE]
    keys += [{"project_key": "p", "session_id": "a", "subpath": name} for name in HOSTILE]
    for number, key in enumerate(keys):
        await store.append(key, [says(f"u{number}", None, f"text {number}")])
    assert os.listdir(tmp_path) == ["root"]
    found = [path.relative_to(root) for path in root.rglob("*") if path.is_dir()]
    assert all(len(path.parts) <= 3 for path in found)
    assert len({str(path).casefold() for path in found}) == len(found)
    for number, key in enumerate(keys):
        assert await store.load(key) == [says(f"u{number}", None, f"text {number}")]
    assert {one["session_id"] for one in await store.list_sessions("p")} == {*HOSTILE}
    assert set(await store.list_subkeys({"project_key": "p", "session_id": "a"})) == {*HOSTILE}
    assert await store.list_subkeys({"project_key": "p", "session_id": "A"}) == []
    await store.delete({"project_key": "p", "session_id": "a", "subpath": "CON"})
    assert set(await store.list_subkeys({"project_key": "p", "session_id": "a"})) == {*HOSTILE} - {"CON"}
    await store.delete({"project_key": "p", "session_id": "a"})
    assert {one["session_id"] for one in await store.list_sessions("p")} == {*HOSTILE} - {"a"}
    assert await store.load({"project_key": "a", "session_id": "a"}) is not None
    await store.close()


async def test_a_deleted_session_begins_anew(place: str) -> None:
    """Also in a store that had it open while another process deleted it; nothing of it is left in the directory."""
    one, other = PersistentSessionStore(place), PersistentSessionStore(place)
    await one.append(KEY, conversation(1))
    assert await other.load(KEY)
    await one.delete(KEY)
    assert await one.load(KEY) is None
    assert not [name for _, _, files in os.walk(place) for name in files]
    await other.append(KEY, [says("n", None, "new")])
    assert await one.load(KEY) == [says("n", None, "new")]
    await one.close()
    await other.close()


async def list_subagents(store: Any, *, session_id: str, directory: str) -> Any:
    return await sdk.list_subagents_from_store(store, session_id, directory=directory)


async def same_answers(call: Callable[[Any], Any], *stores: Any) -> Any:
    found = [await call(store) for store in stores]
    assert json.dumps(found[0], default=str) == json.dumps(found[-1], default=str)
    return found[0]


async def test_the_sdk_reads_the_same_from_us_as_from_its_own_store(place: str) -> None:
    """Its functions over a store (list, messages, sub-agents, fork, rename, tag, resume) give the same."""
    ours, theirs = PersistentSessionStore(place), InMemorySessionStore()
    directory = str(Path(ROOT))
    project = sdk.project_key_for_directory(directory)
    key = {"project_key": project, "session_id": KEY["session_id"]}
    sub = {**key, "subpath": "subagents/agent-7"}
    for store in (ours, theirs):
        await store.append(key, conversation(3))
        await store.append(sub, [{**entry, "agentId": "7", "isSidechain": True} for entry in conversation(1, "s")])
    names = [name for name in dir(sdk) if name.endswith(("_from_store", "_via_store"))]
    assert len(names) >= 8
    session_id = key["session_id"]
    await same_answers(
        lambda store: sdk.get_session_messages_from_store(store, session_id, directory=directory), ours, theirs
    )
    await same_answers(
        lambda store: sdk.get_subagent_messages_from_store(store, session_id, "7", directory=directory), ours, theirs
    )
    await same_answers(partial(list_subagents, session_id=session_id, directory=directory), ours, theirs)
    for store in (ours, theirs):
        await sdk.rename_session_via_store(store, session_id, "Renamed", directory=directory)
        await sdk.tag_session_via_store(store, session_id, "tagged", directory=directory)
    infos = [await sdk.get_session_info_from_store(store, session_id, directory=directory) for store in (ours, theirs)]
    listed = [(await sdk.list_sessions_from_store(store, directory=directory))[0] for store in (ours, theirs)]
    for one, other in (infos, listed):
        assert {**vars(one), "last_modified": 0} == {**vars(other), "last_modified": 0}
        assert one.custom_title == "Renamed"
    forks = [await sdk.fork_session_via_store(store, session_id, directory=directory) for store in (ours, theirs)]
    lengths = [
        len(await store.load({**key, "session_id": fork.session_id}))
        for store, fork in zip((ours, theirs), forks, strict=True)
    ]
    assert lengths[0] == lengths[1] > 10
    await ours.close()


async def test_a_session_is_resumed_from_the_store(place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The SDK writes the entries that it loads, and its sub-agents', to the file that its program resumes from."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    directory = str(tmp_path)
    project = sdk.project_key_for_directory(directory)
    key = {"project_key": project, "session_id": KEY["session_id"]}
    store = PersistentSessionStore(place)
    await store.append(key, conversation(2))
    await store.append({**key, "subpath": "subagents/agent-7"}, conversation(1, "s"))
    options = sdk.ClaudeAgentOptions(session_store=store, resume=key["session_id"], cwd=directory)
    made = await session_resume.materialize_resume_session(options)
    files = sorted(made.config_dir.rglob("*.jsonl"), key=lambda path: len(str(path)))
    assert [json.loads(line) for line in files[0].read_text("utf-8").splitlines()] == conversation(2)
    assert [json.loads(line) for line in files[1].read_text("utf-8").splitlines()] == conversation(1, "s")
    await made.cleanup()
    await store.close()


async def test_the_mirror_of_the_sdk_tries_a_refused_batch_again(place: str, tmp_path: Path) -> None:
    """What was refused is there once when it is tried again, and nobody is told of an error."""
    store, errors, tries = PersistentSessionStore(place), [], []
    real = store.append

    async def flaky(key: Any, entries: Any) -> None:
        tries.append(len(entries))
        if len(tries) % 2:
            await real(key, entries[: len(entries) // 2])
            raise OSError("the network went away")
        await real(key, entries)

    store.append = flaky  # type: ignore[method-assign]

    async def on_error(key: Any, error: str) -> None:
        errors.append(error)

    batcher = TranscriptMirrorBatcher(store, str(tmp_path), on_error)
    given = [entry for entry in conversation(5) if "uuid" in entry]
    path = str(tmp_path / KEY["project_key"] / f"{KEY['session_id']}.jsonl")
    for at in range(0, len(given), 4):
        batcher.enqueue(path, given[at : at + 4])
        await batcher.flush()
    await batcher.close()
    assert errors == []
    assert await store.load(KEY) == given
    await store.close()


async def test_commands_read_the_same_session(tmp_path: Path) -> None:
    """`show`, `search`, `report`, `stats` and views take it as any other; titles are for people only."""
    store = PersistentSessionStore(tmp_path)
    await store.append(KEY, conversation(3))
    await store.close()
    log = log_in(tmp_path)
    command = [sys.executable, "-c", "from amplifier_module_context_persistent.toolbox.cli import main; main()"]

    def said(*arguments: str) -> str:
        run = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return run.stdout

    assert "answer 2" in said("show", str(log))
    assert "content of 1" in said("search", "content of 1", str(log))
    assert "messages" in said("stats", str(log))
    said("report", str(log), "--output", str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert KEY["session_id"] in said("list", str(log.parents[1]))
    async with PersistentContextManager(log) as manager:
        view = await manager.get_messages_for_request(provider="anthropic")
        assert {message["role"] for message in view} == {"user", "assistant", "tool"}
        assert "Title" not in json.dumps([{**message, "metadata": 0} for message in view])


@proof
def test_a_mirror_that_is_killed_between_batches_loses_nothing(place: str) -> None:
    """Every acknowledged batch is there, none in part, and the batch that is tried again is not doubled."""
    told = kill_again_and_again("claude_agent_sdk", place, kills=20 if whole() else 8, seed=1)
    print(told)
    assert told.lost == told.doubled == 0
    assert told.acknowledged > 0


async def test_what_cannot_be_kept_is_not_acknowledged(tmp_path: Path) -> None:
    """The kit tries it again, or tells its user."""
    (tmp_path / "file").write_text("not a directory")
    store = PersistentSessionStore(tmp_path / "file" / "below")
    with pytest.raises(OSError, match="no log can be created"):
        await store.append(KEY, conversation(1))


_WRITER = """
import asyncio, sys
from amplifier_module_context_persistent.adapters.claude_agent_sdk import PersistentSessionStore

async def main(place, who):
    store, key = PersistentSessionStore(place, durability="write"), {"project_key": "p", "session_id": "s"}
    for n in range(25):
        names = [*(f"{who} {n} {k}" for k in range(3)), f"both {n}"]
        said = {"role": "user", "content": "hello"}
        await store.append(key, [{"type": "user", "uuid": name, "message": said} for name in names])
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


@proof
def test_two_processes_share_one_session(tmp_path: Path) -> None:
    """Each batch of either is there once, together and in order; an entry that both append is there once."""
    programs = ("first", "second")
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), who], cwd=ROOT) for who in programs]
    assert [writer.wait() for writer in writers] == [0, 0]
    entries = asyncio.run(PersistentSessionStore(tmp_path).load({"project_key": "p", "session_id": "s"}))
    names = [str(entry["uuid"]) for entry in entries or ()]
    assert sorted(name for name in names if name.startswith("both ")) == sorted(f"both {n}" for n in range(25))
    for who in programs:
        own = [name for name in names if name.startswith(f"{who} ")]
        assert own == [f"{who} {n} {k}" for n in range(25) for k in range(3)]
        assert all(names[names.index(f"{who} {n} 0") + 2] == f"{who} {n} 2" for n in range(25))
