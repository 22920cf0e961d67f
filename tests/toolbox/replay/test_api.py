"""The Python interface: a session opened, its requests seen again, other policies played."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.toolbox.replay import (
    SessionNameError,
    compare,
    open_transcript,
    play,
    replay,
    requests,
)
from amplifier_module_context_persistent.toolbox.replay.play_session import Player
from tests.support.places import ROOT
from tests.support.replays import BUDGET, COUNTED, MESSAGES, plain, record
from tests.support.sweeps import proof


@proof
async def test_requests_are_the_views_that_were_handed_out(tmp_path: Path) -> None:
    """Each is proved, in its place, with what it lost by compactions; together they are as the receipts say."""
    views = await record(tmp_path / "log.jsonl", MESSAGES)
    with open_transcript(tmp_path / "log.jsonl") as transcript:
        seen = list(requests(transcript))
        assert [one.view for one in seen] == views
        assert all(one.proof.is_proved for one in seen)
        assert [one.proof.hash for one in seen] == [noted.receipt.hashes.view for noted in transcript.requests()]
        assert [one.place for one in seen] == [at for at, m in enumerate(MESSAGES) if m["role"] == "assistant"]
        plans = [one.proof.plan for one in seen]
        changed = [one.number for one, before in zip(seen[1:], plans, strict=False) if one.proof.plan != before]
        assert changed
        compacted = [one.number for one in seen if one.compaction]  # a plan may shorten more what was short before
        assert compacted
        assert set(compacted) <= set(changed)
        for one in seen:
            assert one.marks.total == one.place
            counts = one.marks.counts()
            assert counts["kept"] + counts["elided"] + one.marks.inserted == len(one.view or ())
        half = seen[len(seen) // 2]
        assert [one.number for one in requests(transcript, start=half.place)] == [
            one.number for one in seen if one.place >= half.place
        ]


async def test_requests_of_a_history_that_was_replaced_are_told_as_well(tmp_path: Path) -> None:
    """A cleared session still has the views from before, proved, in front of what is live."""
    path = tmp_path / "log.jsonl"
    await record(path, MESSAGES[:10])
    async with PersistentContextManager(path, **COUNTED) as manager:
        await manager.clear()
    await record(path, MESSAGES[20:30])
    with open_transcript(path) as transcript:
        seen = list(requests(transcript))
    assert len(seen) > 5
    assert all(one.proof.is_proved for one in seen)
    assert [one.place for one in seen] == sorted(one.place for one in seen)
    assert seen[0].place == 0
    assert seen[-1].place == 9 - [m["role"] for m in reversed(MESSAGES[20:30])].index("assistant")


@proof
def test_it_can_be_called_where_an_event_loop_runs(tmp_path: Path) -> None:
    """A notebook or a test may play a session without leaving its loop; half of it may be left unplayed."""
    path = plain(tmp_path / "plain.jsonl", MESSAGES)

    async def inside() -> int:
        with open_transcript(path) as transcript:
            first = next(play(transcript, budget_tokens=BUDGET, tokenizer="estimate"))
            return first.number + replay(transcript, budget_tokens=BUDGET, tokenizer="estimate").measures.requests

    assert asyncio.run(inside()) == 1 + sum(message["role"] == "assistant" for message in MESSAGES)


@proof
def test_a_replay_has_figures_of_each_request(tmp_path: Path) -> None:
    """They add up to the measures; what sending everything bills is what a policy's bill is a share of."""
    told: list[tuple[str, int, int]] = []
    with open_transcript(plain(tmp_path / "plain.jsonl", MESSAGES)) as transcript:
        found = compare(
            transcript,
            ["none", "truncate:target_usage=0.3"],
            budget_tokens=BUDGET,
            tokenizer="estimate",
            progress=lambda *said: told.append(said),
        )
    whole, played = found.replayed
    assert [one.policy for one in found.replayed] == ["none", "truncate:target_usage=0.3"]
    assert whole.measures.billed_ratio == 1
    assert played.measures.billed_ratio == pytest.approx(played.measures.billed / whole.measures.billed)
    assert 0 < played.measures.billed_ratio < 1
    assert [one.tokens for one in played.requests] == played.measures.request_tokens
    assert sum(one.cached_tokens for one in played.requests) == played.measures.cached_tokens
    assert sum(one.broke for one in played.requests) == played.measures.breaks > 0
    assert played.measures.over == 0
    assert whole.measures.over > 0
    assert whole.measures.far == 1 >= played.measures.far > 0
    assert {what for what, _, _ in told} == {
        "reading",
        "looking for far evidence",
        "adding up all of it",
        "playing none",
        "playing truncate:target_usage=0.3",
    }
    assert all(0 <= done <= total for _, done, total in told)


@proof
def test_recall_finds_what_a_view_left_out(tmp_path: Path) -> None:
    """What stood far back is recoverable where there is a recall, and only in view where there is none."""
    early = {"role": "user", "content": "word " * 400 + "see early_identifier_here " + "and so on " * 400}
    filler = [{"role": "user", "content": f"word {n} " + "and so on " * 400} for n in range(200)]
    call = {"id": "c", "tool": "bash", "arguments": {"command": "cat early_identifier_here"}}
    messages = [
        {"role": "user", "content": "begin"},
        early,
        *filler,
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    with open_transcript(plain(tmp_path / "plain.jsonl", messages)) as transcript:
        found = compare(
            transcript,
            ["sliding", "default", "default:recall=false"],
            budget_tokens=BUDGET,
            tokenizer="estimate",
        )
    shares = [(one.measures.evidence.total, one.measures.far, one.measures.recoverable) for one in found.replayed]
    assert shares == [(1, 0, 0), (1, 0, 1), (1, 0, 0)]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals go to one thread on POSIX systems alone")
@pytest.mark.parametrize("policy", ["none", "sliding", "default"])
def test_an_interrupt_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str) -> None:
    """Before the next message is played, whatever is played."""
    stopped, seen, stop = threading.Event(), list[int](), Player.stop

    def stopping(player: Player) -> None:
        stop(player)
        stopped.set()

    def tell(what: str, done: int, total: int) -> None:
        if what == f"playing {policy}":
            seen.append(done)
            if len(seen) == 3:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                stopped.wait(60)

    monkeypatch.setattr(Player, "stop", stopping)
    with open_transcript(plain(tmp_path / "plain.jsonl", MESSAGES)) as transcript, pytest.raises(KeyboardInterrupt):
        replay(transcript, policy, budget_tokens=BUDGET, tokenizer="estimate", progress=tell)
    assert stopped.is_set()
    assert len(seen) == 3


def test_what_is_no_session_is_an_error(tmp_path: Path) -> None:
    """Neither a path nor a name that nobody has."""
    with pytest.raises(LogUnreadableError):
        open_transcript(tmp_path / "nobody.jsonl")
    with pytest.raises(SessionNameError):
        open_transcript("nobody")


@pytest.mark.parametrize("message_id", [["x"], {"a": 1}, 3, None, ""])
def test_ids_that_are_no_names_do_no_harm(tmp_path: Path, message_id: Any) -> None:
    """A stranger's transcript may say anything where an id should stand."""
    messages = [{**message, "metadata": {"message_id": message_id}} for message in MESSAGES[:8]]
    with open_transcript(plain(tmp_path / "plain.jsonl", messages)) as transcript:
        seen = list(play(transcript, budget_tokens=BUDGET, tokenizer="estimate"))
        assert {run.mark for one in seen for run in one.marks.runs()} == {"kept"}
        assert replay(transcript, budget_tokens=BUDGET, tokenizer="estimate").measures.breaks == 0


@proof
def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python example of `docs/replay_from_python.md` runs on a session, one after the other."""
    monkeypatch.chdir(tmp_path)
    asyncio.run(record(tmp_path / "session.jsonl", MESSAGES))
    text = (ROOT / "docs" / "replay_from_python.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) >= 4
    for example in examples:
        exec(compile(example, "docs/replay_from_python.md", "exec"), {})
