"""A view beside its history: where each message is from, and what is left out between."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplifier_module_context_persistent.replay.visibility import ShownMessage, UnseenRun, annotate, shortening
from amplifier_module_context_persistent.transcript.transcript import Transcript
from tests.support.messages import user
from tests.support.recorded_sessions import Recorded


@pytest.fixture
async def recorded(tmp_path: Path) -> Recorded:
    """A session with a clear, a long result, and three requests, the last one after a compaction."""
    session = Recorded(tmp_path / "log.jsonl", max_tokens=3_000, tokenizer="estimate")
    await session.add(user("before the clear"))
    await session.view()
    await session.manager.clear()
    call = {"id": "c1", "tool": "bash", "arguments": {"command": "make"}}
    await session.add(
        user("Build it."),
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "line\n" * 800},
    )
    await session.view()
    await session.add(*(user(f"question {number} " + "word " * 60) for number in range(20)))
    await session.view()
    await session.manager.close()
    return session


def pieces(session: Recorded, number: int) -> list[ShownMessage | UnseenRun]:
    with Transcript(session.path) as transcript:
        return annotate(transcript, number, session.views[number - 1])


def test_messages_have_the_numbers_of_their_history(recorded: Recorded) -> None:
    """Also in a history that a clear has put an end to since."""
    for number, expected in ((1, [(1, "kept")]), (2, [(1, "kept"), (2, "kept"), (3, "kept")])):
        found = [
            (piece.placed.number, piece.mark) for piece in pieces(recorded, number) if isinstance(piece, ShownMessage)
        ]
        assert found == expected
        assert not any(isinstance(piece, UnseenRun) for piece in pieces(recorded, number))


def test_results_name_their_calls(recorded: Recorded) -> None:
    """By the numbers of the same history."""
    with Transcript(recorded.path) as transcript:
        *_, piece = annotate(transcript, 2, recorded.views[1])
        assert isinstance(piece, ShownMessage)
        ending = piece.placed.ending
        assert (ending.call.number, piece.placed.tools) == (2, ("bash",))


def test_a_compacted_view_and_its_gaps_are_the_history(recorded: Recorded) -> None:
    """Each message once: kept, shortened with its lengths, or in a gap; what the history lacks has no number."""
    found = pieces(recorded, 3)
    numbers: list[int] = []
    for piece in found:
        numbers += range(piece.first, piece.last + 1) if isinstance(piece, UnseenRun) else [piece.placed.number]
    assert sorted(number for number in numbers if number) == list(range(1, 24))
    shown = [piece for piece in found if isinstance(piece, ShownMessage)]
    assert [piece.placed.message for piece in shown] == recorded.views[2]
    assert {piece.mark for piece in shown if not piece.placed.number} <= {"inserted"}
    changed = [piece for piece in found if isinstance(piece, UnseenRun) or piece.mark != "kept"]
    assert changed
    for piece in shown:
        assert (shortening(piece) == "") == (piece.mark == "kept")
        if piece.mark == "elided":
            assert piece.shown_chars < piece.original_chars
            assert f"{piece.original_chars:,} characters" in shortening(piece)
