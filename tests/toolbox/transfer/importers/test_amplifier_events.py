"""What `events.jsonl` beside a host's transcript tells: usage, models and times of its answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.imports import history_and_view, imported, write_jsonl
from tests.support.sweeps import proof

ID = "s-1"


def response(second: int, read: int, model: str = "m", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": read, "output_tokens": 2, "cache_read_tokens": 1}
    data = {"provider": "anthropic", "model": model, "status": "ok", "usage": usage, "messages": ["x" * 9_000]}
    return {"ts": f"2026-02-01T00:00:{second:02}.000+00:00", "lvl": "INFO", "event": "llm:response"} | {
        "session_id": ID,
        "data": data,
        **more,
    }


def transcript(home: Path, *times: int | None) -> Path:
    """A question and an answer for each time."""
    lines: list[dict[str, Any]] = []
    for number, second in enumerate(times):
        time = {"metadata": {"timestamp": f"2026-02-01T00:00:{second:02}.500Z"}} if second is not None else {}
        lines += [{"role": "user", "content": f"q{number}"}, {"role": "assistant", "content": f"a{number}", **time}]
    return write_jsonl(home / ID / "transcript.jsonl", lines)


async def usages(path: Path) -> list[Any]:
    report = imported(path, path.parents[1] / "log.jsonl")
    history, _ = await history_and_view(report.path)
    return [one["metadata"] for one in history if one["role"] == "assistant"]


@proof
@pytest.mark.parametrize("place", ["events.jsonl", "context-intelligence/events.jsonl"])
async def test_as_many_responses_as_answers_are_theirs_in_order(tmp_path: Path, place: str) -> None:
    """Other events, other sessions' and damaged lines count for nothing."""
    path = transcript(tmp_path, None, None)
    others = [{"event": "prompt:submit", "ts": "x"}, response(2, 9, session_id="child"), "damaged"]
    silent = response(3, 9) | {"data": {"usage": None}}
    write_jsonl(path.parent / place, [response(1, 10), *others, silent, response(4, 20, "n")])
    first, second = await usages(path)
    assert first["usage"] == {"input_tokens": 10, "output_tokens": 2, "cache_read_tokens": 1}
    assert (first["model"], first["provider"], first["timestamp"][:19]) == ("m", "anthropic", "2026-02-01T00:00:01")
    assert (second["usage"]["input_tokens"], second["model"]) == (20, "n")


async def test_times_tell_where_the_numbers_differ(tmp_path: Path) -> None:
    """A summary's request counts with the answer that came after it; what came last, with the last answer."""
    path = transcript(tmp_path, 1, 5)
    write_jsonl(path.with_name("events.jsonl"), [response(1, 10), response(3, 7), response(4, 20), response(9, 1)])
    first, second = await usages(path)
    assert first["usage"]["input_tokens"] == 10
    assert second["usage"] == {"input_tokens": 28, "output_tokens": 6, "cache_read_tokens": 3, "requests": 3}


async def test_without_times_the_sums_are_at_the_last_answers(tmp_path: Path) -> None:
    """By model, as far as there are answers."""
    path = transcript(tmp_path, None, None)
    write_jsonl(path.with_name("events.jsonl"), [response(1, 10), response(2, 7, "n"), response(3, 20)])
    first, second = await usages(path)
    assert (first["model"], first["usage"]["input_tokens"]) == ("n", 7)
    assert second["usage"] == {"input_tokens": 30, "output_tokens": 4, "cache_read_tokens": 2, "requests": 2}


async def test_what_an_answer_says_itself_holds(tmp_path: Path) -> None:
    path = transcript(tmp_path, 1)
    own = {"usage": {"input_tokens": 5}, "model": "own", "message_id": "m"}
    write_jsonl(path, [{"role": "assistant", "content": "a", "metadata": own}])
    write_jsonl(path.with_name("events.jsonl"), [response(1, 10)])
    (answer,) = await usages(path)
    assert (answer["usage"], answer["model"], answer["provider"]) == ({"input_tokens": 5}, "own", "anthropic")


async def test_a_fifo_or_a_link_in_their_place_is_not_read(tmp_path: Path) -> None:
    path = transcript(tmp_path, 1)
    os.mkfifo(path.with_name("events.jsonl"))
    (tmp_path / "far.jsonl").write_text(json.dumps(response(1, 10)))
    (path.parent / "context-intelligence").mkdir()
    (path.parent / "context-intelligence" / "events.jsonl").symlink_to(tmp_path / "far.jsonl")
    (answer,) = await usages(path)
    assert "usage" not in answer


async def test_a_directory_under_another_name_has_its_own_events(tmp_path: Path) -> None:
    """A copy of a session: its events name one session. If they name several, none is known as its own."""
    path = transcript(tmp_path, 1)
    path = path.parent.rename(tmp_path / "copied") / path.name
    write_jsonl(path.with_name("events.jsonl"), [response(1, 10)])
    (answer,) = await usages(path)
    assert answer["usage"]["input_tokens"] == 10
    other = transcript(tmp_path / "more", 1)
    other = other.parent.rename(tmp_path / "more" / "copied") / other.name
    write_jsonl(other.with_name("events.jsonl"), [response(1, 10), response(2, 10, session_id="child")])
    (answer,) = await usages(other)
    assert "usage" not in answer
