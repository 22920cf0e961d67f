"""Compacting from outside: what the next plan would do, doing it, and going back."""

from __future__ import annotations

import copy
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.cli.main import main
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer import compact_session as compact_module
from amplifier_module_context_persistent.toolbox.transfer.compact_session import (
    CompactError,
    CompactResult,
    compact_session,
)
from tests.support.checker import assert_valid, same
from tests.support.commands import shows
from tests.support.forks import CONFIG, play, read, records, turn
from tests.support.logs import STAMP, assert_sound
from tests.support.messages import Message, fill
from tests.support.purges import redact
from tests.support.sweeps import proof


def compacted(path: Path, **options: Any) -> CompactResult:
    return compact_session(path, EstimateCounter(), **options)


async def add_turn(manager: PersistentContextManager, number: int) -> list[Message]:
    await fill(manager, turn(number))
    return copy.deepcopy(await manager.get_messages_for_request())


@proof
async def test_it_makes_the_plan_that_the_session_would_make(tmp_path: Path) -> None:
    """The dry run says so before; history stays, and the log is sound."""
    path, other = tmp_path / "log", tmp_path / "other"
    await play(path, 6)
    shutil.copy(path, other)
    before = path.read_bytes()
    seen = compacted(path, dry_run=True)
    assert path.read_bytes() == before
    done = compacted(path)
    assert (seen.tokens_after, seen.changes) == (done.tokens_after, done.changes)
    async with PersistentContextManager(other, **CONFIG) as manager:
        await manager.compact()
    here, there = records(path, "plan")[-1], records(other, "plan")[-1]
    names = ("upto", "keep", "cuts", "gaps", "notice", "tokens_after", "budget_tokens", "target_tokens")
    assert {name: here[name] for name in names} == {name: there[name] for name in names}
    assert done.plan == here["id"]
    assert done.tokens_after == here["tokens_after"] < done.tokens_before
    assert sum(change.tokens for change in done.changes if change.what == "left out") > 0
    assert same((await read(path))[0], (await read(other))[0])
    assert_sound(path)


def test_a_log_whose_receipts_cannot_be_read_is_refused() -> None:
    """As one without receipts is."""
    with pytest.raises(CompactError, match="say for which budget"):
        compacted(Path("fixtures/every-kind.jsonl"), dry_run=True)


@proof
async def test_running_sessions_follow_and_go_back(tmp_path: Path) -> None:
    """After the undo the view begins with the bytes that it had under the plan before."""
    path = tmp_path / "log"
    await play(path, 5)
    async with PersistentContextManager(path, **CONFIG) as manager:
        before = await add_turn(manager, 6)
        done = compacted(path)
        shorter = copy.deepcopy(await manager.get_messages_for_request())
        assert len(shorter) < len(before)
        assert_valid(shorter, history=await manager.get_messages())
        undone = compacted(path, undo=True)
        assert (undone.tokens_before, undone.tokens_after) == (done.tokens_after, done.tokens_before)
        assert same(await manager.get_messages_for_request(), before)
    assert same((await read(path))[1], before)
    assert CliRunner().invoke(main, ["verify", str(path)]).exit_code == 0
    assert CliRunner().invoke(main, ["view", str(path)]).exit_code == 0  # the last receipt is proved


@proof
async def test_undo_goes_back_one_plan_each_time(tmp_path: Path) -> None:
    """To the plans before in their order, and last to the whole history."""
    path = tmp_path / "log"
    views, manager = [], PersistentContextManager(path, **{**CONFIG, "max_tokens": 100_000})
    for number in range(1, 7):
        await add_turn(manager, number)
        if number >= 5:
            assert compacted(path, budget_tokens=2_400 - 200 * number).plan
            views.append(copy.deepcopy(await manager.get_messages_for_request()))
    compacted(path, undo=True)
    assert same((await manager.get_messages_for_request())[: len(views[0])], views[0])
    compacted(path, undo=True)
    view = await manager.get_messages_for_request()
    stored = [message for message in view if "message_id" in message["metadata"]]
    assert same(stored, await manager.get_messages())  # between them stand lines for providers
    await manager.close()
    with pytest.raises(CompactError, match="leaves anything out"):
        compacted(path, undo=True)


@proof
async def test_what_would_be_compacted_again_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    await play(path, 30)
    plans = len(records(path, "plan"))

    def undo_all() -> None:
        for _ in range(plans + 1):
            compacted(path, undo=True)

    with pytest.raises(CompactError, match="would compact it again") as refused:
        undo_all()
    found = re.search(r"--budget \(([\d,]+) or more\)", str(refused.value))
    assert found is not None  # it says what can be done, and that helps
    assert compacted(path, undo=True, budget_tokens=int(found[1].replace(",", ""))).plan


async def test_without_anything_to_go_by_or_back_to_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log"
    await play(path, 1, receipts=False)
    with pytest.raises(CompactError, match="no view was requested"):
        compacted(path)
    await play(tmp_path / "short", 1)
    with pytest.raises(CompactError, match="leaves anything out"):
        compacted(tmp_path / "short", undo=True)
    assert compacted(tmp_path / "short").plan == ""
    assert records(tmp_path / "short", "plan") == []
    done = CliRunner().invoke(main, ["compact", str(path)])
    assert done.exit_code == 2
    assert "no view was requested" in done.stderr


async def test_an_imported_session_is_compacted_for_a_budget_that_is_given(tmp_path: Path) -> None:
    """The session that goes on with it follows the plan."""
    path = tmp_path / "log"
    async with PersistentContextManager(path, **CONFIG) as manager:
        await fill(manager, (message for number in range(6) for message in turn(number)))
    done = compacted(path, budget_tokens=CONFIG["max_tokens"])
    assert done.tokens_after <= 1.01 * done.target_tokens  # what is inserted names messages, whose ids are random here
    assert done.target_tokens < done.tokens_before
    assert done.plan == records(path, "plan")[-1]["id"]
    history, shown = await read(path)
    assert len(str(shown)) < len(str(history))
    assert len(records(path, "plan")) == 1
    assert_sound(path)


async def test_a_plan_that_was_made_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    await play(path, 6)
    opened = compact_module.open_log

    def open_log(found: str, **options: Any) -> Any:
        monkeypatch.setattr(compact_module, "open_log", opened)
        compacted(path)
        return opened(found, **options)

    monkeypatch.setattr(compact_module, "open_log", open_log)
    with pytest.raises(CompactError, match="by another process"):
        compacted(path, budget_tokens=1_000)
    assert len(records(path, "plan")) == len({plan["id"] for plan in records(path, "plan")})
    assert records(path, "plan")[-1]["budget_tokens"] == CONFIG["max_tokens"]


async def test_the_report_names_what_changes(tmp_path: Path) -> None:
    """For a person the largest, as JSON all."""
    path = tmp_path / "log"
    await play(path, 6)
    done = CliRunner().invoke(main, ["compact", str(path), "--dry-run", "--tokenizer", "estimate"])
    assert done.exit_code == 0
    shows(done.stdout, "left out", "Nothing was done (--dry-run).")
    done = CliRunner().invoke(main, ["compact", str(path), "--tokenizer", "estimate"])
    assert done.stdout.endswith("Done.\n")
    done = CliRunner().invoke(main, ["compact", str(path), "--tokenizer", "estimate"])
    assert done.stdout.endswith("Nothing to do: a plan would free too little.\n")


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Where a manager has its log."""
    if request.param == "file":
        return {"transcript_path": tmp_path / "log"}
    return {"storage": request.getfixturevalue("storage"), "session_id": "s", "project": "p"}


@pytest.mark.parametrize("undo", [False, True], ids=["make", "undo"])
@pytest.mark.parametrize("moment", ["PastLog", "open_log"], ids=["reading", "appending"])
async def test_a_purge_meanwhile_lets_the_plan_be_made_again(
    moment: str, undo: bool, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan from before it may hold what it took; nobody has to try again."""
    async with PersistentContextManager(**place, **CONFIG) as manager:
        for number in range(1, 9):
            await add_turn(manager, number)
        location = str(manager.log_path)
    made = getattr(compact_module, moment)
    words = ["question 1", "question 2"]

    def purge_first(*arguments: Any, **options: Any) -> Any:
        if words:
            word = words.pop()
            assert purge_log(location, redact(word), now=lambda: STAMP).messages_redacted
        return made(*arguments, **options)

    monkeypatch.setattr(compact_module, moment, purge_first)
    options: dict[str, Any] = {"undo": True, "budget_tokens": 100_000} if undo else {"budget_tokens": 1_000}
    assert compact_session(location, EstimateCounter(), **options).plan
    assert not words
    assert verify_log(location).is_sound


async def test_a_log_that_is_purged_again_and_again_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason, and no plan."""
    await play(tmp_path / "log", 6)
    open_log, numbers = compact_module.open_log, iter(range(1, 9))

    def purge_first(path: str, **options: Any) -> Any:
        purge_log(path, redact(f"answer {next(numbers)}"), now=lambda: STAMP)
        return open_log(path, **options)

    monkeypatch.setattr(compact_module, "open_log", purge_first)
    before = len(records(tmp_path / "log", "plan"))
    with pytest.raises(CompactError, match="was purged by another process"):
        compacted(tmp_path / "log", budget_tokens=1_000)
    assert len(records(tmp_path / "log", "plan")) == before
