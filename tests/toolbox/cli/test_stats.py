"""`context-persistent stats`: the figures as JSON and as text, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.sessions.prices import PRICES_AS_OF
from amplifier_module_context_persistent.tokens import vocabularies
from amplifier_module_context_persistent.tokens.on_demand import named_counter
from tests.support.commands import run, shows, without_colours
from tests.support.counted_sessions import collected, counted_session
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import TERMINAL, write


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await counted_session(tmp_path / "context-messages.jsonl")


async def test_the_json_is_the_statistics(path):
    """--json prints one object with all figures, and exits with 0."""
    told = json.loads(run("stats", str(path), "--json", "--tokenizer", "estimate").output)
    assert {"cost", "by_turn"} < told.keys()
    expected = json.loads(json.dumps(collected(path).to_json()))
    assert {key: told[key] for key in expected} == expected


async def test_the_text_fits_and_shows_no_content(path):
    """At 80 columns nothing is wider; markup in names is shown as it is, and nothing that was said is shown."""
    done = run("stats", path, "--tokenizer", "estimate", env=TERMINAL)
    assert max(map(len, without_colours(done.output).splitlines())) <= 80
    done = run("stats", str(path), "--tokenizer", "estimate")
    shows(done.output, "read_file", "[m]")
    assert "question" not in done.output


def test_an_empty_log_has_no_tokens(tmp_path):
    """An empty file is a session without messages."""
    (tmp_path / "log.jsonl").touch()
    assert "0 messages, 0 tokens" in run("stats", str(tmp_path / "log.jsonl"), "--tokenizer", "estimate").output


async def test_damage_is_said(path):
    """A damaged line is passed over and counted."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:40] + b"#" + lines[3][41:]
    path.write_bytes(b"".join(lines))
    assert "1 finding of damage" in run("stats", str(path), "--tokenizer", "estimate").output


MODEL = "claude-sonnet-4-5"


@pytest.fixture
def billed(tmp_path: Path) -> Path:
    """Two turns whose answers bring usage along, one of a model without a price, with a failed and an open call."""

    def answer(second: int, model: str, **more: object) -> dict[str, object]:
        usage = {"input_tokens": 1_000_000, "cache_read_input_tokens": 500_000, "output_tokens": 100_000}
        metadata = {"timestamp": f"2026-01-05T09:00:{second:02}Z", "usage": usage, "model": model}
        return {"role": "assistant", "content": "", **more, "metadata": metadata}

    def asked(second: int, text: str) -> dict[str, object]:
        return {"role": "user", "content": text, "metadata": {"timestamp": f"2026-01-05T09:00:{second:02}Z"}}

    calls = [{"id": call_id, "tool": "bash", "arguments": {}} for call_id in ("a", "b")]
    return write(
        tmp_path / "billed.jsonl",
        [
            asked(0, "one"),
            answer(5, MODEL, tool_calls=calls),
            {"role": "tool", "tool_call_id": "a", "content": "Error: no"},
            asked(10, "two"),
            answer(40, "unknown-model"),
        ],
    )


def test_cost_time_and_errors(billed: Path) -> None:
    """By model, cached tokens apart; a model without a price is named; time and cost by turn."""
    done = run("stats", str(billed), "--tokenizer", "estimate")
    assert max(map(len, done.output.splitlines())) <= 80
    whole = " ".join(done.output.split())
    shows(
        whole,
        "2 turns in 35 s, 2 calls, 1 failed, 1 without a result",
        f"{MODEL} 1 1,500,000 33% 0% 100,000 $4.65",
        "unknown-model 1 1,500,000 33% 0% 100,000 ",
        "all 2 3,000,000 33% 0% 200,000 $4.65",
        f"list prices in US dollars as of {PRICES_AS_OF}",
        "no price for 1 request",
        "bash 2 1 1 ",
    )  # calls, results, failed
    told = json.loads(run("stats", str(billed), "--json").output)
    assert told["cost"]["cost"] == pytest.approx(4.65)
    (price,) = (told["cost"]["prices"][MODEL],)
    assert (price["table"], price["day"], price["input"]) == ("list prices in US dollars", PRICES_AS_OF, 3)
    assert (list(told["cost"]["prices"]), told["cost"]["unpriced_models"]) == ([MODEL], ["unknown-model"])
    assert [turn["duration_s"] for turn in told["by_turn"]] == [5.0, 30.0]
    assert [turn["cost"] for turn in told["by_turn"]] == [pytest.approx(4.65), 0.0]


def test_a_table_of_prices_can_be_given(billed: Path, tmp_path: Path) -> None:
    """It takes the place of the built-in prices, and one that cannot be read is an error in one line."""
    table = tmp_path / "prices.json"
    table.write_text(json.dumps({"unknown-model": {"input": 1, "output": 1, "cached": 0}}))
    shows(run("stats", str(billed), "--prices", str(table)).output, "prices as given", "5.75")  # 4.65 and 1.10
    table.write_text("{")
    assert "Error: " in run("stats", str(billed), "--prices", str(table), code=2).output


def test_hidden_requests_are_named(billed: Path) -> None:
    """What was spent on answers that a rewind hid is in the sum, and said."""
    run("rewind", billed, "--to", "msg-1", "--yes")
    output = " ".join(run("stats", str(billed)).output.split())
    assert "4.65 went to requests whose answers are no longer live" in output


def test_a_vocabulary_is_not_loaded_where_nothing_is_to_be_counted(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A counter is named by the vocabulary that is there; one that cannot be read is an error once it has to count."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "none"))
    monkeypatch.setattr(vocabularies, "_package_paths", lambda _: [str(path)])
    counter = named_counter("cl100k_base")
    assert counter.name == "cl100k_base"
    done = run("stats", str(path), "--tokenizer", "cl100k_base", code=2)
    assert "count with --tokenizer estimate" in " ".join(done.output.split())
    monkeypatch.setattr(vocabularies, "_package_paths", lambda _: [])
    assert named_counter("auto").name == "estimate"


def write_sealed(path: Path, bodies: list[bytes]) -> None:
    """Write a log of these records."""
    path.write_bytes(b"".join(sealed(bodies)))
    path.chmod(0o600)


def test_a_plan_of_another_program_is_no_error(tmp_path: Path) -> None:
    """Counts that are none are shown as 0, whatever they are."""
    odd = {"dropped": [1], "budget_tokens": {}, "target_tokens": 1e300, "tokens_before": "many", "tokens_after": -5}
    message = encode_message({"role": "user", "content": "hello"}, message_id="m", timestamp="2026-01-05T09:00:00.000Z")
    plans = (encode_control("plan", id="p", step={"a": 1}, cuts=3, **odd), encode_control("plan", id=["p"], step=None))
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(sealed([message, *plans])))
    told = json.loads(run("stats", str(path), "--json", "--tokenizer", "estimate").output)
    assert [plan["tokens_before"] for plan in told["plans"]] == [None, None]
    done = run("stats", str(path), "--tokenizer", "estimate")
    assert done.exception is None
    assert "compaction" in done.output


def test_it_says_which_tools_took_long(tmp_path: Path) -> None:
    """The time of each tool from its calls to their results, and the slowest calls with their places."""
    bodies = []
    for number, (tool, seconds) in enumerate((("bash", 50), ("grep", 2), ("bash", 9))):
        call = {"id": f"c{number}", "tool": tool, "arguments": {}}
        asks = {"role": "assistant", "content": "", "tool_calls": [call]}
        answers = {"role": "tool", "tool_call_id": call["id"], "content": "done"}
        for message, second in ((asks, 0), (answers, seconds)):
            stamp = f"2026-01-05T09:0{number}:{second:02}.000Z"
            bodies.append(encode_message(message, message_id=f"m{len(bodies)}", timestamp=stamp))
    write_sealed(tmp_path / "log.jsonl", bodies)
    told = json.loads(run("stats", str(tmp_path / "log.jsonl"), "--json", "--tokenizer", "estimate").output)
    assert {name: tool["duration_s"] for name, tool in told["tools"].items()} == {"bash": 59.0, "grep": 2.0}
    assert {name: tool["median_s"] for name, tool in told["tools"].items()} == {"bash": 29.5, "grep": 2.0}
    assert [(call["place"], call["tool"], call["duration_s"]) for call in told["slowest"]] == [
        (1, "bash", 50.0),
        (5, "bash", 9.0),
        (3, "grep", 2.0),
    ]
    shown = run("stats", str(tmp_path / "log.jsonl"), "--tokenizer", "estimate").output
    shows(shown, "slowest at", "took: from a call to its result, with the wait for a person")


def test_it_says_if_turns_are_left_out(tmp_path: Path) -> None:
    """The table has the ten largest; with all of them nothing is said."""
    turn = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Done."}]
    log = write(tmp_path / "log", turn * 12)
    assert "the 10 largest of 12 turns; --top 12 shows all\n" in run("stats", log).output
    assert "largest of" not in run("stats", log, "--top", "12").output
