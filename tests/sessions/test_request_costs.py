"""What a session cost: reports found in the log, times prices by model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.kept_figures import figures_of
from amplifier_module_context_persistent.catalogue.record_pass import RecordPass
from amplifier_module_context_persistent.sessions.prices import (
    DEFAULT_PRICES,
    Price,
    PriceList,
    PricesError,
)
from amplifier_module_context_persistent.sessions.request_costs import Bill, Bills, Cost, bills_by_turn, cost_of
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.toolbox.cli.tables import cost_notes
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.imports import write_jsonl

MODEL = "claude-sonnet-4-5-20250929"
USAGE = {"input_tokens": 100_000, "cache_read_tokens": 60_000, "cache_write_tokens": 20_000, "output_tokens": 1_000}
COST = (40_000 * 3 + 60_000 * 0.3 + 20_000 * 3.75 + 1_000 * 15) / 1e6


def cost(path: Path, prices: PriceList | None = None) -> Cost:
    with Transcript(path) as transcript, figures_of(transcript.reader, EstimateCounter()) as figures:
        return cost_of(figures, prices or PriceList())


async def answered(path: Path, usages: list[dict[str, Any] | None]) -> None:
    """A session whose host reports usage by `llm:response` before it adds each answer."""
    async with PersistentContextManager(path, max_tokens=1_000_000) as manager:
        for usage in usages:
            await manager.add_message({"role": "user", "content": "x" * 400_000})
            await manager.get_messages_for_request()
            if usage is not None:
                await manager.on_llm_response({"model": MODEL, "usage": usage})
            await manager.add_message({"role": "assistant", "content": "four"})


async def test_reports_are_billed(tmp_path: Path) -> None:
    """A request's report is in the log and costs its tokens times the model's prices."""
    await answered(tmp_path / "log.jsonl", [USAGE])
    found = cost(tmp_path / "log.jsonl")
    assert found.total.cost == pytest.approx(COST)
    assert (found.total.requests, found.total.unpriced_requests, found.total.estimated_outputs) == (1, 0, 0)
    assert (found.total.input_tokens, found.total.output_tokens) == (120_000, 1_000)
    assert list(found.models) == [MODEL]


async def test_unreported_output_is_counted_and_named(tmp_path: Path) -> None:
    """Where the provider does not say what the model wrote, its message is counted, and that is said."""
    await answered(tmp_path / "log.jsonl", [{**USAGE, "output_tokens": None}])
    found = cost(tmp_path / "log.jsonl")
    answer = {"role": "assistant", "content": "four"}
    tokens = count_message(answer, EstimateCounter())
    assert (found.total.estimated_outputs, found.total.output_tokens) == (1, tokens)
    assert found.total.estimated_cost == pytest.approx(tokens * 15 / 1e6)
    with Transcript(tmp_path / "log.jsonl") as transcript:
        bills = Bills(transcript.reader, PriceList(), lambda message: count_message(message, EstimateCounter()))
        (message,) = [one for one in transcript.messages() if one["role"] == "assistant"]
        billed = bills.of(message)
    assert (billed.output_tokens, billed.is_estimated) == (tokens, True)
    assert billed.cost == pytest.approx(found.total.cost, abs=1e-6)


async def test_a_fork_does_not_pay_again(tmp_path: Path) -> None:
    """A fork copies the last report of each model for its calibration; it is not a request of the fork."""
    await answered(tmp_path / "log.jsonl", [USAGE])
    forked = fork_session(tmp_path / "log.jsonl", path=tmp_path / "fork.jsonl")
    with Transcript(forked.path) as transcript:
        assert transcript.reader.index.session.usage
    assert cost(Path(forked.path)).total.requests == 0
    await answered(Path(forked.path), [USAGE])
    assert cost(Path(forked.path)).total.requests == 1


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def message(message_id: str, **more: Any) -> dict[str, Any]:
    metadata = {"message_id": message_id, **more.pop("metadata", {})}
    return {"role": "assistant", "content": "an answer", **more, "metadata": metadata}


def test_an_imported_messages_own_usage_counts_once(tmp_path: Path) -> None:
    """It goes before the log's record for the same request, and a message that a reset stored again counts once."""
    own = {"usage": {"input_tokens": 10, "output_tokens": 2}, "model": MODEL}
    record = {"_record": "usage", "model": MODEL, "actual_tokens": 50, "cached_tokens": 0}
    lines = [record, message("a", metadata=own), message("a", metadata=own), message("b"), record, message("c")]
    with Transcript(write(tmp_path / "log.jsonl", lines)) as transcript:
        requests = RecordPass(lambda _: 3).run(transcript.reader).requests
    assert [(one.answer_id, one.usage.input_tokens, one.output_tokens) for one in requests if one.usage] == [
        ("a", 10, 2),
        ("c", 50, 3),
    ]


def test_reports_without_an_answer_are_billed(tmp_path: Path) -> None:
    """A request that was paid for and never answered, as after a kill, counts too."""
    record = {"_record": "usage", "model": "m", "actual_tokens": 50, "cached_tokens": 0, "output_tokens": 4}
    found = cost(write(tmp_path / "log.jsonl", [message("a"), record]))
    assert (found.total.requests, found.total.unpriced_requests, found.total.output_tokens) == (1, 1, 4)


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    """What cannot be read is no request."""
    path = write(tmp_path / "log.jsonl", [message("a", usage={"input_tokens": 5, "output_tokens": 1})])
    path.write_bytes(b"\x00\x00\n" + path.read_bytes() + b'{"_record":"usage","actual_tok')
    assert cost(path).total.requests == 1


def test_writes_for_an_hour_cost_what_they_cost(tmp_path: Path) -> None:
    """As a message's usage tells them, by our names or by Anthropic's, in the bill and in what one request cost."""
    plain = {"input_tokens": 0, "cache_creation_input_tokens": 1_000_000, "output_tokens": 0}
    told = {**plain, "cache_creation": {"ephemeral_5m_input_tokens": 750_000, "ephemeral_1h_input_tokens": 250_000}}
    ours = {"input_tokens": 0, "cache_write_tokens": 1_000_000, "cache_write_1h_tokens": 250_000, "output_tokens": 0}
    lines = [
        message(f"m{number}", metadata={"usage": usage, "model": "claude-opus-5-5"})
        for number, usage in enumerate((plain, told, ours))
    ]
    path = write(tmp_path / "log.jsonl", lines)
    assert cost(path).total.cost == pytest.approx(5 + 2 * (0.75 * 5 + 0.25 * 8))
    with Transcript(path) as transcript:
        bills = Bills(transcript.reader, PriceList(), lambda _: 0)
        assert [bills.of(one).cost for one in lines] == pytest.approx([5, 5.75, 5.75])


def test_requests_above_a_step_of_the_tariff_cost_more(tmp_path: Path) -> None:
    """Each by itself, with its answer; requests of one model on both sides of a step are one line of the bill."""
    usages = [(272_000, 0), (272_001, 0), (72_001, 200_000)]
    lines: list[dict[str, Any]] = []
    for number, (uncached, cached) in enumerate(usages):
        usage = {"input_tokens": uncached + cached, "cache_read_tokens": cached, "output_tokens": 1_000}
        lines += [
            {"role": "user", "content": "go", "metadata": {"message_id": f"u{number}"}},
            message(f"a{number}", metadata={"usage": usage, "model": "gpt-6.2-sol"}),
        ]
    path = write(tmp_path / "log.jsonl", lines)
    low, high = 272_000 * 2 + 1_000 * 10, 272_001 * 4 + 1_000 * 15
    mixed = 72_001 * 4 + 200_000 * 0.2 + 1_000 * 15
    found = cost(path)
    assert found.total.cost == pytest.approx((low + high + mixed) / 1e6)
    assert {name: bill.requests for name, bill in found.models.items()} == {"gpt-6.2-sol": 3}
    with Transcript(path) as transcript, figures_of(transcript.reader, EstimateCounter()) as figures:
        by_turn = bills_by_turn(figures, PriceList())
    assert {turn: bill.cost for turn, bill in by_turn.items()} == pytest.approx(
        {1: low / 1e6, 2: high / 1e6, 3: mixed / 1e6}
    )


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("claude-opus-4-1@20250805", "claude-opus-4-1"),
        ("Claude-Haiku-4-5-latest", "claude-haiku-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("gpt-5-another", None),
        ("claude-sonnet-4-9", None),
        ("my-gpt-4o", None),
        ("gpt-4o-mini-audio", None),
        ("sonnet", None),
        ("", None),
    ],
)
def test_models_are_found_by_name(model: str, known: str | None) -> None:
    """With a router's prefix and a date or without; a name that only begins alike is another model."""
    assert PriceList().of(model) == (DEFAULT_PRICES[known] if known else None)


def test_a_table_takes_the_place_of_the_defaults(tmp_path: Path) -> None:
    """Model by model; cached and written input cost what input costs, unless the table says more."""
    path = tmp_path / "prices.json"
    own = {"input": 4, "output": 8, "cached": 1, "write": 5}
    long = {**own, "write_1h": 6, "above": 1000, "above_input": 2, "above_output": 3}
    path.write_text(json.dumps({"gpt-5": {"input": 1, "output": 2}, "own": own, "long": long}))
    prices = PriceList.load(path)
    assert prices.of("gpt-5") == Price(1, 2, 1, 1, 1)
    assert prices.of("own") == Price(4, 8, 1, 5, 5)
    assert prices.of("long") == Price(4, 8, 1, 5, 6, 1000, 2, 3)
    assert 1000 in prices.steps
    assert prices.of("gpt-5-mini") == DEFAULT_PRICES["gpt-5-mini"]
    assert Price(4, 8, 1, 5, 5).cost(1_000_000, 1_000_000, 1_000_000, 0, 1_000_000) == 18


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"m": 3}',
        '{"m": {"input": 1}}',
        '{"m": {"input": "1", "output": 2}}',
        '{"m": {"input": -1, "output": 2}}',
        '{"m": {"input": 1, "output": 2, "cache": 3}}',
        '{"m": {"input": 1, "output": 2, "above": NaN}}',
        '{"m": {"input": 1, "output": 2, "above": Infinity}}',
    ],
)
def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    """It says which model, and is never taken in part."""
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(PricesError):
        PriceList.load(path)


def test_a_cost_is_known_if_one_request_has_both_a_price_and_an_input() -> None:
    assert Bill(requests=3, unpriced_requests=1, unreported_requests=1).has_cost
    assert not Bill(requests=2, unpriced_requests=1, unreported_requests=1).has_cost


@pytest.mark.parametrize(("requests", "times"), [(1, 2), (2, 1)])
def test_what_several_requests_read_together_is_not_above_a_step(tmp_path: Path, requests: int, times: int) -> None:
    """Only what one request reads can be dearer."""
    usage = {"input_tokens": 400_000, "output_tokens": 0, "requests": requests}
    log = write(tmp_path / "log.jsonl", [message("a", metadata={"usage": usage, "model": "gpt-5.5"})])
    with Transcript(log) as transcript:
        bills = Bills(transcript.reader, PriceList(), lambda _: 0)
        (billed,) = map(bills.of, transcript.messages())
    assert billed.cost == pytest.approx(400_000 * 5 * times / 1e6)


@pytest.mark.parametrize("output", [1_000, None])
async def test_requests_that_one_message_answers_are_added_up(tmp_path: Path, output: int | None) -> None:
    """As when the first of them failed half way; an estimate among them makes the sum one."""
    async with PersistentContextManager(tmp_path / "log.jsonl", max_tokens=1_000_000) as manager:
        await manager.add_message({"role": "user", "content": "x" * 400_000})
        for tokens in (1_000, output):
            await manager.get_messages_for_request()
            await manager.on_llm_response({"model": MODEL, "usage": {**USAGE, "output_tokens": tokens}})
        await manager.add_message({"role": "assistant", "content": "four"})
    with Transcript(tmp_path / "log.jsonl") as transcript:
        bills = Bills(transcript.reader, PriceList(), lambda _: 0)
        billed = [bills.of(one) for one in transcript.messages()][-1]
    assert (billed.input_tokens, billed.is_estimated) == (240_000, output is None)
    assert billed.output_tokens == 1_000 + (output or 0)
    assert billed.cost == pytest.approx(2 * COST - (0 if output else 1_000 * 15 / 1e6))


def test_a_cost_that_the_source_counted_is_no_part_of_ours(tmp_path: Path) -> None:
    """Whether the model has a price here or not; agents write 0 for a price that they do not know."""
    header = {"type": "session", "version": 3, "id": "s", "cwd": "/w"}
    entries: list[dict[str, Any]] = [header]
    for number, (model, dollars) in enumerate([(MODEL, 0.25), ("unknown", 0.5), (MODEL, 0)]):
        usage = {"input": 1_000, "output": 10, "cost": {"total": dollars}}
        said = {"role": "assistant", "model": model, "provider": "p", "content": f"answer {number}", "usage": usage}
        entries.append({"type": "message", "id": f"e{number}", "timestamp": "2026-01-01T00:00:00Z", "message": said})
    source = write_jsonl(tmp_path / "pi.jsonl", entries)
    import_session(source, path=tmp_path / "log.jsonl")
    found = cost(tmp_path / "log.jsonl")
    assert found.total.cost == pytest.approx(2 * (1_000 * 3 + 10 * 15) / 1e6)
    assert (found.total.source_cost, found.total.source_cost_requests) == (0.75, 2)
    assert found.models[MODEL].source_cost == 0.25
    assert found.to_json()["source_cost"] == 0.75
    assert cost_notes(found, PriceList())[-1] == "as the agent counted: $0.75 for 2 requests; no part of the cost above"
