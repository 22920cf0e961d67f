"""Receipts: canonical bytes and hashes, when receipts are written, and what they hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.view.arrangement import Item
from amplifier_module_context_persistent.view.receipts import (
    ReaderName,
    Receipt,
    RequestHashes,
    ViewHashes,
    canonical,
    text_hash,
)
from tests.support.logs import assert_sound
from tests.support.messages import CALLS, Message, result, user
from tests.support.recorded_sessions import Recorded, controls

EXAMPLE = Receipt(
    id="m" + "0" * 16,
    time="2026-01-05T09:00:00.000Z",
    plan="m" + "1" * 16,
    upto="m" + "2" * 16,
    messages=1_234,
    tokens=123_456,
    budget_tokens=200_000,
    reader=ReaderName("anthropic"),
    hashes=RequestHashes("4" * 32, "3" * 16),
    extras=2,
    render={"truncate_boundary": "char"},
)


def view_hash(messages: list[Message], head: list[Message]) -> str:
    """The hash of a view that goes on from none."""
    return ViewHashes().hash_of((), lambda start: messages[start:], head, of=None)


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
    messages, head = [CALLS, user("ü")], [user("head")]
    code = (
        "from amplifier_module_context_persistent.view.receipts import ViewHashes\n"
        f"print(ViewHashes().hash_of((), lambda _: {messages!r}, {head!r}, of=None))"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    printed = subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
    assert printed == (view_hash(messages, head) + "\n").encode()


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
    chain, logs = ViewHashes(), (object(), object())
    for numbers, log, has_head in requests:
        messages = [user(f"{log} {number}") for number in numbers]
        items = [Item(inserted=user(str(number))) for number in numbers]  # alike in both logs
        head = [user("head")] if has_head else []
        found = chain.hash_of(items, lambda at, all_of=messages: all_of[at:], head, of=logs[log])
        assert found == view_hash(messages, head)


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
    await recorded.prove()


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


async def test_receipts_are_counted_and_no_damage(recorded: Recorded) -> None:
    """A scan passes over them without reading them, and finds every message and every damaged line all the same."""
    await recorded.play(40)
    await recorded.manager.close()
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    for damaged in (None, next(at for at, line in enumerate(lines) if b'"view"' in line)):
        if damaged is not None:
            lines[damaged] = lines[damaged].replace(b'"messages":', b'"massages":')
            recorded.path.write_bytes(b"".join(lines))
        with closing(LogReader(recorded.path)) as reader:
            reader.follow()
            assert reader.index.control_counts["view"] == len(recorded.views)
            assert len(list(reader.read(reader.index.live))) == 40
            assert [found.line for found in reader.index.damage] == ([] if damaged is None else [damaged + 1])
