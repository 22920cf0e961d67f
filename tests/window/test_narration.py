"""Words between tool calls that came as readable thinking stay after a plan, as text."""

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.message import text_of
from tests.support.messages import Message
from tests.support.sweeps import proof
from tests.support.windows import Desk

NARRATED = "claude-sonnet-5-5"


def thinking(text: str, **more: Any) -> Message:
    return {"type": "thinking", "thinking": text, "signature": "c2ln" * 9, **more}


def working(desk: Desk, steps: int, *, model: str = NARRATED, block: Any = None) -> None:
    """A turn of many calls, each after something that the model says in a thinking block."""
    desk.add({"role": "user", "content": "Fix the build, step by step."})
    for n in range(steps):
        said = block or thinking(f"FOUND-{n}: module {n} fails because of import {n}; next I read file {n}.")
        desk.add(
            {
                "role": "assistant",
                "content": [said],
                "tool_calls": [{"id": f"c{n}", "tool": "read", "arguments": {"path": f"f{n}.py"}}],
                "metadata": {"provider": "anthropic", "model": model},
            },
            {"role": "tool", "tool_call_id": f"c{n}", "name": "read", "content": f"file {n}\n" + "lorem ipsum " * 90},
        )


def found(view: list[Message] | None) -> list[int]:
    """The numbers of the statements that a view shows as text."""
    text = "\n".join(text_of(message) for message in view or [] if message["role"] == "assistant")
    return [n for n in range(200) if f"FOUND-{n}:" in text]


def asked(desk: Desk, model: str = NARRATED, provider: str = "anthropic", budget: int = 9_000) -> list[Message]:
    view = desk.ask(budget, provider=provider, model=model).view
    assert view is not None
    return view


def test_statements_stay_after_a_plan_as_text(desk: Desk) -> None:
    """All that the view has room for; none is shown twice, and no thinking without its prefix."""
    working(desk, 60)
    view = asked(desk)
    assert desk.window.plan is not None
    assert desk.window.plan.rules.narrates
    kept = [message for message in view if message.get("tool_calls")]
    assert len(found(view)) >= len(kept) - 1 > 20
    for message in kept[1:-1]:
        assert [block["type"] for block in message["content"]] == ["text"]


@proof(quick=1)
@pytest.mark.parametrize(
    ("model", "provider"), [("claude-opus-5-5", "anthropic"), (NARRATED, "openrouter"), ("gpt-6.2", "openai")]
)
def test_others_get_none_of_it(desk: Desk, model: str, provider: str) -> None:
    """Neither another model nor another provider, nor whoever has no name."""
    working(desk, 60)
    assert len(found(asked(desk))) > 20
    assert found(asked(desk, model, provider)) == []


@proof(quick=1)
@pytest.mark.parametrize(
    ("model", "block"),
    [
        ("claude-haiku-5-5", thinking("FOUND-1: it thinks.")),
        (NARRATED, {"type": "redacted_thinking", "data": "FOUND-1: it thinks."}),
        (NARRATED, thinking("   ")),
    ],
    ids=["a model that does not narrate", "redacted", "blank"],
)
def test_thinking_that_is_no_statement_goes(desk: Desk, model: str, block: Message) -> None:
    """Only readable thinking of models that the table names is one."""
    working(desk, 60, model=model, block=block)
    assert found(asked(desk, model)) == []


def test_a_long_statement_keeps_its_beginning_and_its_end(desk: Desk) -> None:
    """About 150 tokens of it."""
    words = "It is hard to tell what it means. " * 90
    working(desk, 60, block=thinking(f"FOUND-7: this is the beginning. {words} And so I change the parser."))
    said = [text_of(m) for m in asked(desk) if m.get("tool_calls") and "FOUND-7:" in text_of(m)]
    assert said
    assert all(text.endswith("And so I change the parser.") and len(text) < 800 for text in said)


def test_without_recall_a_statement_does_not_name_it() -> None:
    """A long one says how much is missing; the next process shows the same."""
    desk = Desk(recall=False)
    working(desk, 60, block=thinking(f"FOUND-7: this is the beginning. {'It is hard to tell. ' * 90} So I go on."))
    view = asked(desk)
    assert "characters left out]" in str([m["content"] for m in view if m.get("tool_calls")])
    assert "recall" not in str(view)
    desk.store()
    assert desk.ask(9_000, desk.new_window(), provider="anthropic", model=NARRATED).view == view


@proof
def test_requests_go_on_from_one_another(desk: Desk) -> None:
    """Also over plans that were made before there was this text: they keep what they showed."""
    before: list[Message] = []
    for n in range(40):
        working(desk, 1, block=thinking(f"FOUND-{n}: what I see."))
        built = desk.ask(9_000, provider="anthropic", model=NARRATED)
        assert built.view is not None
        if built.planning.compaction is None:
            assert built.view[: len(before)] == before
        before = built.view
