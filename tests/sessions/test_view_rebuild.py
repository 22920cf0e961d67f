"""Views rebuilt from their receipts: proved over compactions, resets and restarts, unless the log was altered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import LogError, PersistentContextManager
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.sessions.view_rebuild import PackedRecord
from tests.support.histories import messages as any_histories
from tests.support.logs import sealed
from tests.support.messages import CALLS, Message, result, user
from tests.support.recorded_sessions import Recorded, assert_proved, controls, made
from tests.support.sweeps import proof, some


@proof
async def test_views_over_compactions_and_restarts_are_proved(recorded: Recorded) -> None:
    """Every view of a session that compacts and is resumed is given back by its receipt."""
    for seed in (3, 4, 5):
        await recorded.play(36, seed)
        await recorded.restart()
    assert len(controls(recorded.path, "plan")) >= 3
    assert len(recorded.views) > 40
    assert_proved(recorded.path, recorded.views)


@proof(quick=1)
@pytest.mark.parametrize("replace", [False, True], ids=["clear", "set_messages"])
async def test_a_view_before_a_reset_is_proved(recorded: Recorded, replace: bool) -> None:
    """What a reset hides is still in the log, and so is the plan that it voided."""
    await recorded.play(36)
    kept = (await recorded.manager.get_messages())[4:9]
    if replace:
        await recorded.manager.set_messages(kept)
    else:
        await recorded.manager.clear()
    await recorded.add(user("a new start"))
    await recorded.play(20, seed=8)
    await recorded.prove()


async def test_a_receipt_behind_a_reset_that_came_between_is_proved(recorded: Recorded) -> None:
    """Another process may reset the history between a view and the append that carries its receipt."""
    await recorded.play(40)
    await recorded.view()
    async with PersistentContextManager(
        recorded.path, durability="write", tokenizer="estimate", receipts=False
    ) as other:
        await other.clear()
        await other.add_message(user("elsewhere"))
    await recorded.add(user("here"))
    await recorded.view()
    await recorded.prove()


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
    await recorded.prove()
    texts = [record["text"] for record in controls(recorded.path, "system")]
    assert texts == ["one", "two \x1b[31m\ufffd", " "]  # half a surrogate pair cannot be sent
    assert [len(view) for view in recorded.views] == [2, 3, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7]


async def test_a_late_result_is_proved_before_and_after(recorded: Recorded) -> None:
    """A stand-in that the real result takes the place of changes what came before; both views are given back."""
    await recorded.add(user("two files"), CALLS, result("c2", "second"), user("and?"))
    await recorded.view()
    await recorded.add(result("c1", "first"), result("c1", "again"), result("c9", "orphan"))
    await recorded.view()
    await recorded.prove()
    assert [message["content"] for message in recorded.views[0]][2] != "first"
    assert [message["content"] for message in recorded.views[1]][2] == "first"


@proof
async def test_views_of_smaller_budgets_are_proved(recorded: Recorded) -> None:
    """A plan that no later process follows is kept aside for the receipts that name it, and is not the session's."""
    await recorded.play(30)
    for _ in range(3):
        await recorded.view(900)
        await recorded.add(user("more"))
    await recorded.view()
    await recorded.prove()
    assert controls(recorded.path, "side_plan")
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
    await recorded.prove()
    assert not controls(recorded.path, "plan")


@proof
async def test_options_that_the_bytes_depend_on_are_kept(tmp_path: Path) -> None:
    """A view that was cut at any character is given back, though the default is the ends of lines."""
    recorded = Recorded(tmp_path / "log.jsonl", truncate_boundary="char")
    await recorded.play(80)
    await recorded.prove()
    assert any("characters elided" in json.dumps(view) for view in recorded.views)


async def test_a_view_with_ephemeral_messages_is_shown_in_part(recorded: Recorded) -> None:
    """What stood in no log is not given back; the receipt says how many those were, and nothing is proved."""
    await recorded.add(user("one"), user("psst", ephemeral=True), user("two"))
    await recorded.view()
    await recorded.manager.close()
    (again,) = made(recorded.path)
    assert [message["content"] for message in again.messages or []] == ["one", "two"]
    assert (again.proved, again.reasons) == (False, ["1 of its messages stood in no log"])


async def test_what_cannot_be_written_is_in_no_view(recorded: Recorded) -> None:
    """An ephemeral integer that Python does not write is refused, as a stored one is."""
    await recorded.add(user("one"))
    with pytest.raises(ValueError, match="digits"):
        await recorded.manager.add_message({**user("psst", ephemeral=True), "large": 10**5_000})
    await recorded.view()
    await recorded.prove()


async def test_memory_files_that_were_saved_are_no_extras(tmp_path: Path) -> None:
    """A fresh session's files are in the log by its first request."""
    (tmp_path / "notes.md").write_text("remember", encoding="utf-8")
    recorded = Recorded(tmp_path / "log.jsonl", memory_files=[str(tmp_path / "notes.md")])
    await recorded.head("head")
    await recorded.view()  # of a log that is not there yet: no receipt
    await recorded.add(user("hello"))
    del recorded.views[:]
    await recorded.view()
    await recorded.prove()
    assert "remember" in str(recorded.views)


@proof
@settings(max_examples=some(24), deadline=None, suppress_health_check=list(HealthCheck))
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


def with_new_checksums(lines: list[bytes]) -> list[bytes]:
    """One message says something else, its checksum and all after it made anew."""
    return sealed([line[:-20].replace(b"second word", b"other word!") for line in lines])


ALTERED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a letter": lambda lines: [line.replace(b"second word", b"second ward") for line in lines],
    "with new checksums": with_new_checksums,
    "a missing message": lambda lines: [line for line in lines if b"second word" not in line],
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
    await recorded.prove()
    before = recorded.path.read_bytes()
    recorded.path.write_bytes(b"".join(ALTERED[kind](before.splitlines(keepends=True))))
    assert recorded.path.read_bytes() != before
    assert [one.proved for one in made(recorded.path)] == [False]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["id", "keep", "cuts", "gaps"]), VALUES))
def test_it_gives_back_what_was_packed(fields: dict[str, object]) -> None:
    """Whatever JSON it has, numbers beyond 64 bits and infinities too, each time afresh."""
    record = {"_record": "plan", **fields}
    packed = PackedRecord.of(record)
    assert packed.record() == record
    assert packed.record() is not packed.record()


def test_it_is_small() -> None:
    """What repeats itself, as plans do, takes a fraction of its JSON."""
    record = {
        "_record": "plan",
        "gaps": [{"after": f"m{number:05}", "words": ["parcel", "round"]} for number in range(500)],
    }
    assert len(PackedRecord.of(record).packed) < 6_000
