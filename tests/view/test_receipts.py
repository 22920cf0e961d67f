"""Receipts: what is kept of every view, and the views that are made again from them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import LogError, PersistentContextManager
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.view import receipts
from amplifier_module_context_persistent.view.arrangement import Item
from amplifier_module_context_persistent.view.receipts import Chain, Receipt, canonical, text_hash, view_hash
from tests.support.histories import messages as any_histories
from tests.support.logs import assert_sound, sealed
from tests.support.messages import CALLS, Message, result, user
from tests.support.recorded_sessions import Recorded, assert_proved, controls, made

EXAMPLE = Receipt(
    id="m" + "0" * 16,
    time="2026-01-05T09:00:00.000Z",
    plan="m" + "1" * 16,
    upto="m" + "2" * 16,
    messages=1_234,
    tokens=123_456,
    budget_tokens=200_000,
    provider="anthropic",
    head="3" * 16,
    extras=2,
    hash="4" * 32,
    render={"truncate_boundary": "char"},
)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "log.jsonl")


# -- canonical bytes and hashes ----------------------------------------------------------------------------------------


def test_canonical_bytes_do_not_depend_on_the_order_of_keys() -> None:
    """Equal messages have the same bytes, however their keys stand."""
    assert canonical({"a": 1, "b": {"c": [1.5, None], "d": "ü"}}) == canonical(
        {"b": {"d": "ü", "c": [1.5, None]}, "a": 1}
    )
    assert canonical({"b": "ü", "a": 2}) == '{"a":2,"b":"ü"}'.encode()


@pytest.mark.parametrize(
    ("one", "other"),
    [(None, float("nan")), (float("inf"), None), (1, 1.0), (1, True), (2**64, 2**64 + 1), ("\ud800", "\ud801")],
)
def test_different_values_have_different_bytes(one: Any, other: Any) -> None:
    """Also values that the fast writer alters or refuses."""
    assert canonical({"content": one}) != canonical({"content": other})


def test_a_hash_is_the_same_in_any_process() -> None:
    """Neither the seed of Python's hashes nor the process plays a part."""
    code = (
        "from amplifier_module_context_persistent.view.receipts import view_hash\n"
        "from tests.support.messages import CALLS, user\n"
        "print(view_hash([CALLS, user('ü')], [user('head')]))"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert hashes == {(view_hash([CALLS, user("ü")], [user("head")]) + "\n").encode()}


def test_the_hash_is_what_the_documentation_says() -> None:
    """A chain of BLAKE2b over canonical bytes, the head text last, as `docs/format.md` has it."""
    running = bytes(16)
    for message in (b'{"content":"a","role":"user"}', b'{"content":"s","role":"system"}'):
        running = blake2b(running + message, digest_size=16).digest()
    assert view_hash([user("a")], [{"role": "system", "content": "s"}]) == running.hex()
    assert text_hash("s") == blake2b(b'"s"', digest_size=8).hexdigest()


@given(st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=8), st.integers(0, 1), st.booleans()), max_size=8))
def test_a_chain_that_goes_on_gives_the_hash_of_the_whole(requests: list[tuple[list[int], int, bool]]) -> None:
    """Whatever views follow each other, of whatever log and head text: the running hash is the one made afresh."""
    chain, logs = Chain(), (object(), object())
    for numbers, log, has_head in requests:
        messages = [user(f"{log} {number}") for number in numbers]
        items = [Item(inserted=user(str(number))) for number in numbers]  # alike in both logs
        head = [user("head")] if has_head else []
        assert chain.hash_of(items, messages, head, of=logs[log]) == view_hash(messages, head)


def test_a_receipt_is_small_and_comes_back() -> None:
    """All its keys set it is read as it was written; a usual one has less than 300 bytes."""
    assert Receipt.from_record(json.loads(EXAMPLE.encode() + b"}")) == EXAMPLE
    usual = json.loads(EXAMPLE.encode() + b"}")
    del usual["extras"], usual["render"]
    assert len(Receipt.from_record(usual).encode()) + 20 < 300


@pytest.mark.parametrize("key", ["id", "plan", "upto", "head", "hash", "messages", "tokens", "extras", "render"])
@pytest.mark.parametrize("value", [None, [1], -1, True, 1.5])
def test_what_is_no_receipt_is_refused(key: str, value: Any) -> None:
    """A key of another type is a ValueError."""
    with pytest.raises(ValueError, match="not a receipt"):
        Receipt.from_record({**json.loads(EXAMPLE.encode() + b"}"), key: value})


# -- a session's receipts ----------------------------------------------------------------------------------------------


async def test_views_over_compactions_and_restarts_are_proved(recorded: Recorded) -> None:
    """Every view of a session that compacts and is resumed is given back by its receipt."""
    for seed in (3, 4, 5):
        await recorded.play(60, seed)
        await recorded.restart()
    assert len(controls(recorded.path, "plan")) >= 3
    assert len(recorded.views) > 60
    assert_proved(recorded.path, recorded.views)


@pytest.mark.parametrize("replace", [False, True], ids=["clear", "set_messages"])
async def test_a_view_before_a_reset_is_proved(recorded: Recorded, replace: bool) -> None:
    """What a reset hides is still in the log, and so is the plan that it voided."""
    await recorded.play(60)
    kept = (await recorded.manager.get_messages())[4:9]
    if replace:
        await recorded.manager.set_messages(kept)
    else:
        await recorded.manager.clear()
    await recorded.add(user("a new start"))
    await recorded.play(20, seed=8)
    await recorded.manager.close()
    assert_proved(recorded.path, recorded.views)


async def test_a_receipt_behind_a_reset_that_came_between_is_proved(recorded: Recorded) -> None:
    """Another process may reset the history between a view and the append that carries its receipt."""
    await recorded.play(40)
    await recorded.view()
    other = PersistentContextManager(recorded.path, durability="write", tokenizer="estimate", receipts=False)
    await other.clear()
    await other.add_message(user("elsewhere"))
    await other.close()
    await recorded.add(user("here"))
    await recorded.view()
    await recorded.manager.close()
    assert_proved(recorded.path, recorded.views)


async def test_a_head_text_is_kept_once(recorded: Recorded) -> None:
    """Each text of a factory is one record, also where an older one comes back and after a restart; all are proved."""
    await recorded.add({"role": "system", "content": "stored"}, user("hello"))
    await recorded.view()
    for text in ("one", "one", "two \x1b[31m\ud800", "one", " "):
        await recorded.head(text)
        await recorded.add(user("go on"))
        await recorded.view()
        await recorded.view()
    await recorded.restart()
    await recorded.head("two \x1b[31m\ud800")
    await recorded.view()
    await recorded.manager.close()
    texts = [record["text"] for record in controls(recorded.path, "system")]
    assert texts == ["one", "two \x1b[31m\ud800", " "]
    assert [len(view) for view in recorded.views] == [2, 3, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7]
    assert_proved(recorded.path, recorded.views)


async def test_a_late_result_is_proved_before_and_after(recorded: Recorded) -> None:
    """A stand-in that the real result takes the place of changes what came before; both views are given back."""
    await recorded.add(user("two files"), CALLS, result("c2", "second"), user("and?"))
    await recorded.view()
    await recorded.add(result("c1", "first"), result("c1", "again"), result("c9", "orphan"))
    await recorded.view()
    await recorded.manager.close()
    assert [message["content"] for message in recorded.views[0]][2] != "first"
    assert [message["content"] for message in recorded.views[1]][2] == "first"
    assert_proved(recorded.path, recorded.views)


async def test_views_of_smaller_budgets_are_proved(recorded: Recorded) -> None:
    """A plan that no later process follows is kept aside for the receipts that name it, and is not the session's."""
    await recorded.play(30)
    for _ in range(3):
        await recorded.view(900)
        await recorded.add(user("more"))
    await recorded.view()
    await recorded.manager.close()
    assert controls(recorded.path, "side_plan")
    assert_proved(recorded.path, recorded.views)
    resumed = Recorded(recorded.path)
    assert await resumed.view() == recorded.views[-1]


async def test_a_view_whose_plan_could_not_be_stored_is_proved(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is written with the receipt once the disk takes records again."""
    await recorded.add(*(user(f"{number} " + "word " * 300) for number in range(20)))

    def refused(*_: Any, **__: Any) -> Any:
        raise LogError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(FileLog, "append", refused)
        await recorded.view()
    await recorded.add(user("go on"))
    await recorded.manager.close()
    assert not controls(recorded.path, "plan")
    assert_proved(recorded.path, recorded.views)


async def test_options_that_the_bytes_depend_on_are_kept(tmp_path: Path) -> None:
    """A view that was cut at any character is given back, though the default is the ends of lines."""
    recorded = Recorded(tmp_path / "log.jsonl", truncate_boundary="char")
    await recorded.play(80)
    await recorded.manager.close()
    assert any("characters elided" in json.dumps(view) for view in recorded.views)
    assert_proved(recorded.path, recorded.views)


async def test_a_view_with_ephemeral_messages_is_shown_in_part(recorded: Recorded) -> None:
    """What stood in no log is not given back; the receipt says how many those were, and nothing is proved."""
    await recorded.add(user("one"), user("psst", ephemeral=True), user("two"))
    await recorded.view()
    await recorded.manager.close()
    (again,) = made(recorded.path)
    assert [message["content"] for message in again.messages or []] == ["one", "two"]
    assert (again.proved, again.reasons) == (False, ["1 of its messages stood in no log"])


async def test_a_view_that_cannot_be_hashed_is_handed_out(recorded: Recorded) -> None:
    """An ephemeral integer that Python does not write costs the receipt, not the request."""
    await recorded.add(user("one"))
    await recorded.view()
    await recorded.add(user("two"))
    await recorded.manager.add_message({**user("psst", ephemeral=True), "large": 10**5_000})
    assert len(await recorded.manager.get_messages_for_request()) == 3
    await recorded.manager.clear()
    await recorded.add(user("three"))
    await recorded.view()
    await recorded.manager.close()
    assert_proved(recorded.path, recorded.views)


async def test_memory_files_that_were_saved_are_no_extras(tmp_path: Path) -> None:
    """A fresh session's files are in the log by its first request."""
    (tmp_path / "notes.md").write_text("remember", encoding="utf-8")
    recorded = Recorded(tmp_path / "log.jsonl", memory_files=[str(tmp_path / "notes.md")])
    await recorded.head("head")
    await recorded.view()  # of a log that is not there yet: no receipt
    await recorded.add(user("hello"))
    del recorded.views[:]
    await recorded.view()
    await recorded.manager.close()
    assert "remember" in str(recorded.views)
    assert_proved(recorded.path, recorded.views)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_histories(max_messages=14), st.sampled_from([300, 1_000, 10_000]))
async def test_views_of_any_history_are_proved(tmp_path_factory: Any, drawn: list[Message], budget: int) -> None:
    """Whatever was stored: each view without ephemeral messages is given back, and the others say so."""
    recorded = Recorded(tmp_path_factory.mktemp("any") / "log.jsonl", max_tokens=budget)
    await recorded.add(user("begin"))
    for message in drawn:
        await recorded.add(message)
        try:
            await recorded.view()
        except ContextLengthError:
            continue
    await recorded.manager.close()
    again = made(recorded.path)
    assert len(again) == len(recorded.views)
    for one, view in zip(again, recorded.views, strict=True):
        assert one.proved == (not one.reasons)
        assert json.dumps(one.messages) == json.dumps(view) or not one.proved
    extras = [receipt.get("extras", 0) for receipt in controls(recorded.path, "view")]
    assert [bool(count) for count in extras] == [bool(one.reasons) for one in again]


# -- when they are written ---------------------------------------------------------------------------------------------


async def test_receipts_wait_for_the_next_append_or_the_close(recorded: Recorded) -> None:
    """A view writes nothing by itself; its receipt stands before the next message, the last one at the end."""
    await recorded.add(user("one"))
    before = recorded.path.read_bytes()
    await recorded.view()
    await recorded.view()
    assert recorded.path.read_bytes() == before
    await recorded.add(user("two"))
    await recorded.view()
    kinds = [json.loads(line).get("_record", "message") for line in recorded.path.read_bytes().splitlines()]
    assert kinds == ["header", "message", "view", "view", "message"]
    await recorded.manager.close()
    assert len(controls(recorded.path, "view")) == 3
    assert_sound(str(recorded.path))


async def test_a_kill_loses_the_last_receipts_and_nothing_else(recorded: Recorded) -> None:
    """Without a close the receipts that waited, and their head text, are missing; the next session keeps them anew."""
    await recorded.head("head")
    await recorded.add(user("one"))
    await recorded.view()
    recorded.manager = recorded.open()
    await recorded.head("head")
    del recorded.views[:]
    await recorded.view()
    await recorded.add(user("two"))
    await recorded.manager.close()
    assert_proved(recorded.path, recorded.views)


async def test_no_receipt_holds_content(recorded: Recorded) -> None:
    """No word of a message, of the head text or of a call stands in a `view` record."""
    await recorded.head("xyzzy-head")
    await recorded.add(user("xyzzy-said"), CALLS, result("c1", "xyzzy-result"))
    await recorded.view()
    await recorded.manager.close()
    (receipt,) = controls(recorded.path, "view")
    assert "xyzzy" not in json.dumps(receipt)
    assert "read" not in json.dumps(receipt)


async def test_receipts_can_be_turned_off(tmp_path: Path) -> None:
    """With `receipts: false` the log holds neither receipts nor what is kept for them."""
    recorded = Recorded(tmp_path / "log.jsonl", receipts=False)
    await recorded.head("head")
    await recorded.play(30)
    await recorded.view(900)
    await recorded.manager.close()
    assert not any(controls(recorded.path, kind) for kind in ("view", "system", "side_plan"))


async def test_compacting_by_hand_hands_out_no_view(recorded: Recorded) -> None:
    """`compact` and `should_compact` leave no receipt."""
    await recorded.play(20)
    count = len(recorded.views)
    await recorded.manager.compact()
    await recorded.manager.should_compact()
    await recorded.manager.close()
    assert len(controls(recorded.path, "view")) == count


# -- what they prove ---------------------------------------------------------------------------------------------------


def _altered(lines: list[bytes]) -> list[bytes]:
    """One message says something else, its checksum and all behind it made anew."""
    return sealed([line[:-20].replace(b"second word", b"other word!") for line in lines])


ALTERED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a letter": lambda lines: [line.replace(b"second word", b"second ward") for line in lines],
    "with new checksums": _altered,
    "a missing message": lambda lines: [line for line in lines if b"second word" not in line],
    "another order": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "another head text": lambda lines: [line.replace(b'"text":"head"', b'"text":"hear"') for line in lines],
    "another count": lambda lines: [line.replace(b'"messages":4', b'"messages":5') for line in lines],
    "another hash": lambda lines: [line.replace(b'"hash":"', b'"hash":"0') for line in lines],
}


@pytest.mark.parametrize("kind", ALTERED)
async def test_a_log_that_was_altered_proves_nothing(recorded: Recorded, kind: str) -> None:
    """Whatever is changed in what a view was made of, it is not proved any more."""
    await recorded.head("head")
    await recorded.add(user("first word"), user("second word"), user("third word"))
    await recorded.view()
    await recorded.manager.close()
    assert_proved(recorded.path, recorded.views)
    before = recorded.path.read_bytes()
    recorded.path.write_bytes(b"".join(ALTERED[kind](before.splitlines(keepends=True))))
    assert recorded.path.read_bytes() != before
    assert [one.proved for one in made(recorded.path)] == [False]


async def test_a_receipt_costs_what_is_new(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two plans only what was appended is written in canonical form, and the head text where there is one."""
    await recorded.head("head")
    await recorded.add(*(user(f"message {number}") for number in range(100)))
    await recorded.view()
    written: list[Any] = []

    def counted(message: Any) -> bytes:
        written.append(message)
        return canonical(message)

    monkeypatch.setattr(receipts, "canonical", counted)
    await recorded.add(user("message 100"))
    await recorded.view()
    await recorded.head("another head")
    await recorded.view()
    heads = ["head", "another head"]
    system = [{"role": "system", "content": text} for text in heads]
    assert [one for one in written if one not in heads] == [recorded.views[-1][-1], *system]


async def test_receipts_are_counted_and_no_damage(recorded: Recorded) -> None:
    """A scan passes over them without reading them, and finds every message and every damaged line all the same."""
    await recorded.play(40)
    await recorded.manager.close()
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    for damaged in (None, next(at for at, line in enumerate(lines) if b'"view"' in line)):
        if damaged is not None:
            lines[damaged] = lines[damaged].replace(b'"messages":', b'"massages":')
            recorded.path.write_bytes(b"".join(lines))
        reader = LogReader(recorded.path)
        reader.follow()
        assert reader.index.control_counts["view"] == len(recorded.views)
        assert len(list(reader.read(reader.index.live))) == 40
        assert [found.line for found in reader.index.damage] == ([] if damaged is None else [damaged + 1])
        reader.close()
