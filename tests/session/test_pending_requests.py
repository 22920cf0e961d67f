"""Which request an answer belongs to."""

from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.session.pending_requests import PendingRequests
from amplifier_module_context_persistent.session.provider_refusals import Refusals
from tests.support.answers import provider
from tests.support.messages import Message, as_json, result, user

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def answer(**more: Any) -> Message:
    return {"role": "assistant", "content": [THINKING, {"type": "text", "text": "So."}], **more}


def bound_of(pending: PendingRequests, message: Message) -> str:
    """What an answer is noted to be bound to; empty where to nothing."""
    return str((pending.note(message).get("metadata") or {}).get("bound", ""))


def test_an_answer_belongs_to_the_request_that_waits() -> None:
    """A later part of it says how many stand before it; nothing is noted without reasoning, or over a note."""
    pending = PendingRequests("s")
    assert bound_of(pending, answer()) == ""
    pending.hand_out("one")
    assert [bound_of(pending, answer()) for _ in range(3)] == ["one", "one+1", "one+2"]
    plain = {"role": "assistant", "content": "So."}
    assert pending.note(plain) is plain
    assert bound_of(pending, answer(metadata={"bound": "given"})) == "given"
    pending.note(user("And?"))
    assert bound_of(pending, answer()) == ""  # nobody was asked


def test_what_comes_while_a_request_waits_changes_nothing() -> None:
    """A message that was added before the answer does not end the request."""
    pending = PendingRequests("s")
    pending.hand_out("one")
    pending.note(user("Also this."))
    assert bound_of(pending, answer()) == "one"


def test_an_answer_that_was_not_stored_is_no_part_of_it() -> None:
    """What is added again is the first part still; another message that failed changes nothing."""
    pending = PendingRequests("s")
    pending.hand_out("one")
    pending.take_back(pending.note(answer()))
    pending.take_back(user("Also this."))
    assert [bound_of(pending, answer()) for _ in range(2)] == ["one", "one+1"]


def test_requests_that_were_sent_different_things_leave_it_open() -> None:
    """Unless all that wait were sent the same; a later request begins anew."""
    pending = PendingRequests("s")
    for bound in ("one", "two"):
        pending.hand_out(bound)
    assert bound_of(pending, answer()) == ""
    for bound in ("three", "three"):
        pending.hand_out(bound)
    assert bound_of(pending, answer()) == "three"


def test_a_view_that_cannot_be_hashed_binds_nothing() -> None:
    """Its answers have no bound."""
    pending = PendingRequests("s")
    pending.hand_out("")
    assert "metadata" not in pending.note(answer())


def test_the_host_tells_whose_a_response_is() -> None:
    """By the name that it gave the request; events of another session, or without a name, say nothing."""
    pending = PendingRequests("s")
    for bound in ("one", "two"):
        pending.hand_out(bound)
        pending.on_request({"request_id": f"r-{bound}", "session_id": "s"})
    pending.on_response({"request_id": "r-two", "session_id": "another"})
    pending.on_response({"session_id": "s"})
    pending.on_response({"request_id": "r-one", "session_id": "s"})
    assert bound_of(pending, answer()) == "one"


def test_without_receipts_an_answer_keeps_who_was_asked() -> None:
    """Else nobody could tell later who can read it; where two were asked alike, nobody can."""
    pending = PendingRequests("s", names_makers=True)
    pending.hand_out("one", "anthropic", "claude-opus-5-5")
    assert pending.note(answer())["metadata"] == {"provider": "anthropic", "model": "claude-opus-5-5", "bound": "one"}
    for model in ("claude-opus-5-5", "claude-sonnet-5-5"):
        pending.hand_out("two", "anthropic", model)
    assert pending.note(answer())["metadata"] == {"bound": "two"}


def test_refused_reasoning_is_heard_once() -> None:
    """By the error's text in either event, or by the event of a provider's module."""
    refused = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different …"
    heard: tuple[tuple[Message, bool], ...] = (
        ({"error": {"type": "InvalidRequestError", "msg": refused}}, False),
        ({"status": "error", "error": refused}, False),
        ({"retry": 1}, True),
    )
    for event, certain in heard:
        refusals = Refusals("s")
        refusals.asked = "anthropic", "claude-opus-5-5"
        assert refusals.hear({"error": {"msg": "prompt is too long"}}) is None
        assert refusals.hear({**event, "session_id": "another"}, certain=certain) is None
        heard_facts = [refusals.hear(event, certain=certain) for _ in range(2)]
        assert heard_facts == [("reasoning", "anthropic", "claude-opus-5-5"), None]


def test_an_answer_to_a_view_without_reasoning_belongs_to_no_request() -> None:
    """Its own reasoning would be shown after what the provider did not get."""
    pending = PendingRequests("s")
    pending.hand_out("")
    assert bound_of(pending, answer()) == ""


def test_a_look_at_a_view_is_no_request() -> None:
    """A view that names no provider, beside requests that do: it replaces none, and is replaced by the next one."""
    pending = PendingRequests("s")
    pending.hand_out("look")
    pending.hand_out("one", "anthropic", "claude-opus-5-5")
    assert pending.is_look("")
    assert not pending.is_look("anthropic")
    assert bound_of(pending, answer()) == "one"
    assert not pending.is_look("")  # the next request may be one that names nobody


def test_an_interrupted_request_gets_no_answer() -> None:
    """A person spoke before it was answered, and another request followed; a hook's reminder ends nothing."""
    pending = PendingRequests("s")
    reminder: Message = {"role": "user", "content": "<system-reminder>Be brief.</system-reminder>"}
    for said, bound in ((user("Stop. Do that."), "two"), (reminder, "")):
        pending.hand_out("one", "anthropic", "claude-opus-5-5")
        pending.note(said)
        pending.hand_out("two", "anthropic", "claude-opus-5-5")
        assert bound_of(pending, answer()) == bound


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-5"])
async def test_reasoning_is_kept_by_a_host_that_looks_at_views(model: str) -> None:
    """After each turn and while an answer is awaited it looks at a view, and each second request is interrupted."""
    claude = provider("anthropic", model)
    async with InMemoryContextManager() as manager:
        for turn in range(6):
            await manager.add_message(user(f"Question {turn}"))
            view = await manager.get_messages_for_request(provider=claude)
            await manager.get_messages_for_request()
            if turn % 2 == 0:
                continue
            call = {"id": f"c{turn}", "tool": "look", "arguments": {}}
            made_by = {"provider": "anthropic", "model": model}
            await manager.add_message(answer(tool_calls=[call], metadata=made_by))
            await manager.add_message(result(f"c{turn}", "Seen."))
            await manager.get_messages_for_request(provider=claude)
            await manager.add_message({"role": "assistant", "content": "Done.", "metadata": made_by})
            await manager.get_messages_for_request()
        await manager.add_message(user("And now?"))
        last = await manager.get_messages_for_request(provider=claude)
    assert as_json(last).count("Hm.") == 3
    assert last[: len(view)] == view


def test_a_request_that_is_named_late_says_nothing_of_those_that_follow() -> None:
    """The name came after the answer had begun, and the same view was sent again beside another one."""
    pending = PendingRequests("s")
    pending.hand_out("one")
    assert bound_of(pending, answer()) == "one"
    pending.on_request({"request_id": "late", "session_id": "s"})
    for bound in ("one", "two"):
        pending.hand_out(bound)
    pending.on_response({"request_id": "late", "session_id": "s"})
    assert bound_of(pending, answer()) == ""
