"""Sessions that change their provider, and chains of responses over plans."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.answers import FAMILIES, ChainingProvider, answer, foreign_to, provider, result, secret
from tests.support.checker import assert_valid
from tests.support.messages import fill, user
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sweeps import proof

FILLER = "The order keeps its total until it was acknowledged. " * 20


async def turn(session: Recorded, maker: Any, number: int, family: str = "") -> None:
    """A turn of two requests: a question, an answer with a call, its result, an answer."""
    family = family or maker.name
    await session.add(user(f"Question {number}."))
    for at, calls in ((2 * number, True), (2 * number + 1, False)):
        view = await session.view(None, maker)
        assert_valid(view)
        assert foreign_to(family, view) == []
        await session.add(answer(family, at, calls=calls), *([result(at)] if calls else []))


@proof
async def test_each_provider_gets_its_own_and_nothing_of_others(tmp_path: Path) -> None:
    """Who made what is known by the receipts, also in the next process; the log keeps all."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        for number in range(9):
            await turn(session, provider(FAMILIES[number % 3]), number)
            if number == 4:
                await session.restart()
        views = {name: await session.view(None, provider(name)) for name in FAMILIES}
        for name, view in views.items():
            kept = [at for at in range(18) if secret(name, at) in json.dumps(view)]
            assert kept == [at for at in range(18) if FAMILIES[at // 2 % 3] == name]
        history = json.dumps(await session.manager.get_messages())
        assert all(secret(FAMILIES[at // 2 % 3], at) in history for at in range(18))
        await session.restart()
        assert {name: await session.view(None, provider(name)) for name in FAMILIES} == views


async def test_a_switch_breaks_the_prefix_once(tmp_path: Path) -> None:
    """Between two switches every view is the one before it with what was appended; a return continues as well."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        for number, name in enumerate(["anthropic"] * 3 + ["openai"] * 3 + ["anthropic"] * 3):
            await turn(session, provider(name), number)
        views = session.views
        broken = [at for at in range(1, 18) if views[at][: len(views[at - 1])] != views[at - 1]]
        assert broken == [6, 12]
        assert views[12][: len(views[5])] == views[5]


async def test_unsigned_thinking_stays_where_it_is_understood() -> None:
    """A provider that signs nothing gets the text of visible thinking; those that sign refuse it."""
    manager = InMemoryContextManager(tokenizer="estimate")
    await manager.add_message(user("Go."))
    await manager.get_messages_for_request(provider=provider("anthropic"))
    await manager.add_message(answer("anthropic", 1))
    view = await manager.get_messages_for_request(provider=provider("ollama"))
    assert view[1]["content"] == [
        {"type": "thinking", "thinking": "Thought 1 of anthropic."},
        {"type": "text", "text": "Answer 1."},
    ]
    assert view[1]["thinking_block"] == {"type": "thinking", "thinking": "Thought 1 of anthropic."}
    view = await manager.get_messages_for_request(provider=provider("gemini"))
    assert view[1]["content"] == [{"type": "text", "text": "Answer 1."}]
    assert "thinking_block" not in view[1]


async def test_another_model_of_a_provider_that_binds_to_models() -> None:
    """What one model encrypted is not sent to another one; a dated name is the same model; Claude models share."""
    for name, one, other, shares in (
        ("openai", "gpt-5.2", "gpt-5.2-codex", False),
        ("openai", "gpt-5.2", "gpt-5.2-2026-01-15", True),
        ("gemini", "gemini-3-pro", "gemini-3-flash", False),
        ("anthropic", "claude-opus-4-5", "claude-sonnet-4-5", True),
        ("openai", "gpt-5.2", "", True),
    ):
        manager = InMemoryContextManager(tokenizer="estimate")
        await manager.add_message(user("Go."))
        await manager.get_messages_for_request(provider=provider(name, one))
        await manager.add_message(answer(name, 1))
        view = await manager.get_messages_for_request(provider=provider(name, other))
        assert (secret(name, 1) in json.dumps(view)) == shares, (name, other)


async def test_another_account_of_a_provider() -> None:
    """A provider under another name may be another account: its encrypted items are not sent."""
    manager = InMemoryContextManager(tokenizer="estimate")
    await manager.add_message(user("Go."))
    await manager.get_messages_for_request(provider=provider("azure-openai"))
    await manager.add_message(answer("openai", 1))
    assert secret("openai", 1) in json.dumps(await manager.get_messages_for_request(provider=provider("azure-openai")))
    assert secret("openai", 1) not in json.dumps(await manager.get_messages_for_request(provider=provider("openai")))


async def test_without_a_provider_nothing_is_left_out_for_its_maker() -> None:
    """A request that names none gets history as it is, as long as it stands as it stood."""
    manager = InMemoryContextManager(tokenizer="estimate")
    await manager.add_message(user("Go."))
    for number, name in enumerate(FAMILIES):
        await manager.get_messages_for_request()
        await fill(manager, [answer(name, number), user("And?")])
    assert await manager.get_messages_for_request() == await manager.get_messages()


@pytest.mark.parametrize("receipts", [True, False])
async def test_what_names_its_maker_needs_no_receipt(receipts: bool) -> None:
    """The form of a block and the names of metadata tell whose they are."""
    manager = InMemoryContextManager(tokenizer="estimate", receipts=receipts)
    await manager.add_message(user("Go."))
    for number, name in enumerate(("anthropic", "openai")):
        await fill(manager, [answer(name, number), user("And?")])
    item = {
        "version": 1,
        "model": "gpt-5.2",
        "output": [{"type": "compaction", "encrypted_content": secret("openai", 9)}],
    }
    await manager.add_message({"role": "user", "content": "Compacted.", "metadata": {"openai:compaction": item}})
    for name in FAMILIES:
        assert foreign_to(name, await manager.get_messages_for_request(provider=provider(name))) == []
    view = await manager.get_messages_for_request(provider=provider("openai", "gpt-6"))
    assert secret("openai", 9) not in json.dumps(view)


@proof
async def test_no_chain_goes_on_over_a_plan(tmp_path: Path) -> None:
    """A provider that picks the last answer's id gets none from before a plan; the next answer begins a new chain."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=2_000) as session:
        server, plans, before = ChainingProvider(), 0, set[str]()
        for number in range(20):
            await session.add(user(f"Question {number}. {FILLER}"))
            view = await session.view(None, server)
            made = len(controls(session.path, "plan"))
            if made > plans:
                plans, before = made, {f"resp_{n}" for n in range(1, server.number + 1)}
            reply = server.complete(view)
            assert server.continued[-1] not in before
            assert not [m for m in view if (m.get("metadata") or {}).get("openai:response_id") in before]
            await session.add(reply)
            if number % 5 == 4:
                await session.restart()
        assert plans >= 3
        assert server.continued.count(None) == plans + 1
        stored = [m["metadata"].get("openai:response_id") for m in await session.manager.get_messages()]
        assert [found for found in stored if found] == [f"resp_{n}" for n in range(1, 21)]


async def test_what_another_provider_made_is_left_out_and_proved(tmp_path: Path) -> None:
    """Of the same history, each reader's view has a receipt of its own."""
    session = Recorded(tmp_path / "log.jsonl", max_tokens=100_000)
    await session.add(user("Go."))
    await session.view(None, provider("anthropic"))
    await session.add(answer("anthropic", 1), user("And?"))
    whole = await session.view(None, provider("anthropic"))
    bare = await session.view(None, provider("openai"))
    await session.prove()
    assert secret("anthropic", 1) in json.dumps(whole)
    assert secret("anthropic", 1) not in json.dumps(bare)


async def test_a_fork_knows_whose_its_answers_are(tmp_path: Path) -> None:
    """Its receipts stay in the log that it was forked from; what they say of answers comes along."""
    session = Recorded(tmp_path / "log.jsonl", max_tokens=100_000)
    for number, name in enumerate(("anthropic", "gemini")):
        await turn(session, provider(name, f"{name}-1"), number)
    views = [await session.view(None, provider(name)) for name in FAMILIES]
    await session.manager.close()
    forked = Recorded(tmp_path / "fork.jsonl", max_tokens=100_000)
    fork_session(session.path, path=forked.path)
    assert [await forked.view(None, provider(name)) for name in FAMILIES] == views
    await forked.manager.close()
    assert [(one["provider"], one["model"]) for one in controls(forked.path, "asked")] == [
        *[("anthropic", "anthropic-1")] * 2,
        *[("gemini", "gemini-1")] * 2,
    ]
