"""The checker of bound reasoning and the providers that enforce it, on the cases that the documentation names.

Both are given the same requests, and must find the same.
"""

import copy
import json
from collections.abc import Callable

import pytest
from amplifier_core.llm_errors import InvalidRequestError

from tests.support.enforcing_provider import MODELS, Answer, Service
from tests.support.messages import Message
from tests.support.reasoning_rules import Exchange, find_invalid
from tests.support.sent_requests import Sent, sent
from tests.support.sweeps import proof

TOOLS = [{"name": "look", "parameters": {}, "description": "Looks."}, {"name": "run", "parameters": {}}]
Edit = Callable[["Conversation"], object]


class Conversation:
    """An append-only conversation of three turns, each with a call; six answers with one block of thinking each."""

    def __init__(self, model: str = "claude-opus-5-5", provider: str = "anthropic") -> None:
        self.service = Service(lambda *_: self.answers.pop(0))
        self.model, self.provider, self.system, self.tools = model, provider, "You are careful.", copy.deepcopy(TOOLS)
        self.messages: list[Message] = []
        self.answers: list[Answer] = []

    def request(self) -> Sent:
        messages = [{"role": "system", "content": self.system}, *self.messages]
        family = MODELS[self.model].family
        return sent(family, self.provider, self.model, self.tools, messages, in_place=True)

    def ask(self, answer: Answer) -> None:
        """Send the request, and store the answer as a loop does."""
        self.answers = [answer]
        self.messages.append(_message(self.service.complete(MODELS[self.model], self.request())))

    def play(self, turns: int = 3, kinds: tuple[str, ...] = ("plain",)) -> "Conversation":
        for number in range(turns):
            self.messages.append({"role": "user", "content": f"question {number}"})
            self.ask(Answer("I look.", [("look", {"n": number})], kinds))
            call_id = next(block["id"] for block in self.messages[-1]["content"] if block["type"] == "tool_call")
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": f"result {number}\n" * 3})
            self.ask(Answer(f"answer {number}", [], kinds))
        self.messages.append({"role": "user", "content": "and now?"})
        return self

    def thoughts(self) -> list[Message]:
        return [block for message in self.messages for block in _blocks(message) if "thinking" in block["type"]]

    def without(self, *numbers: int) -> None:
        """Leave out thinking, by its number in the conversation."""
        going = [id(block) for number, block in enumerate(self.thoughts()) if number in numbers]
        for message in self.messages:
            if message["role"] == "assistant":
                message["content"] = [block for block in message["content"] if id(block) not in going]

    def verdict(self) -> tuple[str, list[int]]:
        """What the service says to the request now, and the numbers of the blocks that the checker finds invalid."""
        self.answers = [Answer("last")]
        error = ""
        try:
            self.service.complete(MODELS[self.model], self.request())
        except InvalidRequestError as refused:
            error = str(refused)
        number = len(self.service.exchanges) - 1
        places = [part.place for part in self.service.exchanges[-1].sent.parts if part.mark]
        return error, [places.index(one.place) for one in find_invalid(self.service.exchanges, [number])]


def _message(blocks: list[Message]) -> Message:
    content = []
    for block in blocks:
        as_call = {"type": "tool_call", "id": block.get("id"), "name": block.get("name"), "input": block.get("input")}
        content.append(as_call if block["type"] == "tool_use" else block)
    return {"role": "assistant", "content": content}


def _blocks(message: Message) -> list[Message]:
    return message["content"] if isinstance(message["content"], list) else []


def _set(at: int, **changed: object) -> Edit:
    return lambda c: c.messages[at].update(changed)


def _insert(at: int) -> Edit:
    return lambda c: c.messages.insert(at, {"role": "user", "content": "put in"})


def _summarise(c: Conversation) -> None:
    c.messages[:4] = [{"role": "user", "content": "Summary of what was before."}]


def _swap(c: Conversation) -> None:
    first, second = c.thoughts()[1:3]
    one, two = dict(first), dict(second)
    for block, other in ((first, two), (second, one)):
        block.clear()
        block.update(other)


EVERYTHING = [0, 1, 2, 3, 4, 5]
EDITS: dict[str, tuple[Edit, list[int]]] = {
    "nothing": (lambda c: None, []),
    "another date in the system text": (lambda c: setattr(c, "system", "It is Monday."), EVERYTHING),
    "a tool is added": (lambda c: c.tools.append({"name": "new", "parameters": {}}), EVERYTHING),
    "a tool is removed": (lambda c: c.tools.pop(), EVERYTHING),
    "a tool is described in other words": (lambda c: c.tools[0].update(description="Sees."), EVERYTHING),
    "the order of the tools": (lambda c: c.tools.reverse(), EVERYTHING),
    "the first message": (_set(0, content="another question"), EVERYTHING),
    "a message of turn 2": (_set(4, content="another question"), [2, 3, 4, 5]),
    "a result is shortened": (_set(6, content="result"), [3, 4, 5]),
    "a result of another role's text": (_set(6, role="user", content="result 1\n" * 3), [3, 4, 5]),
    "a message is put in first": (_insert(0), EVERYTHING),
    "a message is put in between": (_insert(4), [2, 3, 4, 5]),
    "a message is put in last": (_insert(13), []),
    "a turn is left out": (lambda c: c.messages.__delitem__(slice(4, 8)), [2, 3]),
    "a summary in place of the first turn": (_summarise, [0, 1, 2, 3]),
    "late system text in its place": (lambda c: c.messages.insert(8, {"role": "system", "content": "x"}), [4, 5]),
    "late system text last": (lambda c: c.messages.append({"role": "system", "content": "x"}), []),
    "thinking between others is left out": (lambda c: c.without(2), [2, 3, 4]),
    "the first thinking is left out": (lambda c: c.without(0), []),
    "the first three are left out": (lambda c: c.without(0, 1, 2), []),
    "the last thinking is left out": (lambda c: c.without(5), []),
    "all thinking is left out": (lambda c: c.without(*EVERYTHING), []),
    "two are exchanged": (_swap, [1, 2, 3, 4, 5]),
    "what is not sent": (lambda c: c.messages[1].update(metadata={"x": 1}, content=_marked(c.messages[1])), []),
}


def _marked(message: Message) -> list[Message]:
    return [{**block, "cache_control": {"type": "ephemeral"}, "visibility": None} for block in message["content"]]


@proof(quick=18)
@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("kinds", [("plain",), ("empty",), ("redacted",)], ids=["thinking", "empty", "redacted"])
def test_a_change_before_thinking_makes_it_and_what_follows_invalid(name: str, kinds: tuple[str, ...]) -> None:
    """A Claude model that binds refuses the request at the first invalid block, whatever the kind of thinking."""
    change, expected = EDITS[name]
    conversation = Conversation().play(kinds=kinds)
    assert conversation.verdict() == ("", [])
    conversation.messages = copy.deepcopy(conversation.messages)
    change(conversation)
    error, invalid = conversation.verdict()
    if name == "a result of another role's text":
        assert "without `tool_result` blocks" in error
    else:
        assert ("The block is bound to a different conversation" in error) == bool(expected), error
    assert invalid == expected
    if expected and "different" in error:
        marked = [part for part in conversation.service.exchanges[-1].sent.parts if part.mark]
        assert f"{marked[expected[0]].place}: Invalid `signature` in `{marked[0].kind}` block." in error


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-6.2"])
def test_models_that_do_not_refuse(model: str) -> None:
    """An older Claude model checks nothing before its thinking; OpenAI drops what follows a change."""
    conversation = Conversation(model, "openai" if model.startswith("gpt") else "anthropic")
    for number in range(3):
        conversation.messages.append({"role": "user", "content": f"question {number}"})
        conversation.answers = [Answer(f"answer {number}", [], ("plain",))]
        blocks = conversation.service.complete(MODELS[model], conversation.request())
        content = [_as_stored(block) for block in blocks]
        conversation.messages.append({"role": "assistant", "content": content})
    conversation.messages.append({"role": "user", "content": "and now?"})
    assert conversation.verdict() == ("", [])
    conversation.messages[2] = {"role": "user", "content": "another question"}
    error, invalid = conversation.verdict()
    assert (error, invalid) == ("", [1, 2])
    reasons = [reason for _, _, reason in conversation.service.dropped]
    assert reasons == (["prefix_mismatch"] * 2 if model.startswith("gpt") else [])


def _as_stored(block: Message) -> Message:
    if block["type"] == "reasoning":
        state = [block["encrypted_content"], block["id"]]
        return {"type": "thinking", "thinking": block["summary"][0]["text"], "content": state}
    return {"type": "text", "text": block["content"]} if block["type"] == "message" else block


def test_reasoning_after_a_change_is_valid_again() -> None:
    """Only what stood after the change when it happened is hit."""
    conversation = Conversation().play(turns=1)
    conversation.system = "It is Monday."
    conversation.without(0, 1)
    conversation.ask(Answer("new", [], ("plain",)))
    conversation.messages.append({"role": "user", "content": "more"})
    assert conversation.verdict() == ("", [])
    assert len(conversation.thoughts()) == 1


def test_reasoning_that_comes_back_before_other_reasoning_is_a_change() -> None:
    """What was left out when a block was produced may not be put in before it later."""
    conversation = Conversation().play(turns=1)
    whole = copy.deepcopy(conversation.messages)
    conversation.without(0)
    conversation.ask(Answer("new", [], ("plain",)))
    conversation.messages.append({"role": "user", "content": "more"})
    assert conversation.verdict() == ("", [])
    conversation.messages[:5] = whole
    error, invalid = conversation.verdict()
    assert "different conversation" in error
    assert invalid == [2]


def test_a_signature_that_was_altered_is_another_error() -> None:
    """Neither the text of thinking nor its signature may be changed, on no Claude model."""
    for model in ("claude-opus-5-5", "claude-sonnet-4-5"):
        for change in ({"thinking": "I think otherwise."}, {"signature": "c2ln"}, {"signature": ""}):
            conversation = Conversation(model).play(turns=1)
            conversation.thoughts()[0].update(change)
            error, _ = conversation.verdict()
            wanted = "Field required" if change == {"signature": ""} else "Invalid `signature` in `thinking` block"
            assert wanted in error
            assert "different conversation" not in error


def test_models_and_accounts_that_cannot_read_reasoning() -> None:
    """A Claude model drops what it cannot read; one reads another's, but not the other way round; OpenAI refuses."""
    cases = (
        ("claude-opus-5-5", "anthropic", "claude-fable-5-1", "anthropic", 0),
        ("claude-fable-5-1", "anthropic", "claude-opus-5-5", "anthropic", 2),
        ("claude-opus-5-5", "anthropic", "claude-opus-5-5", "anthropic-work", 0),
        ("claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5", "anthropic-work", 2),
    )
    for maker, account, reader, other, dropped in cases:
        conversation = Conversation(maker, account).play(turns=1)
        conversation.model, conversation.provider = reader, other
        error, _ = conversation.verdict()
        assert error == ""
        assert len(conversation.service.dropped) == dropped
    service = Service(lambda *_: Answer("a", [], ("plain",)))
    question = {"role": "user", "content": "q"}
    [item, _] = service.complete(MODELS["gpt-6.2"], sent("openai", "openai", "gpt-6.2", [], [question], in_place=False))
    answer = {"role": "assistant", "content": "a", "metadata": {"openai:reasoning_items": [item]}}
    again = sent("openai", "openai-work", "gpt-6.2", [], [question, answer, question], in_place=False)
    with pytest.raises(InvalidRequestError, match="invalid_encrypted_content"):
        service.complete(MODELS["gpt-6.2"], again)


def test_an_older_model_wants_the_thinking_of_a_running_tool_loop() -> None:
    """Without it a request within the loop is refused; after the turn it may go."""
    conversation = Conversation("claude-sonnet-4-5").play(turns=2)
    conversation.messages = conversation.messages[:-2]
    assert conversation.verdict() == ("", [])
    conversation.without(0, 1)
    assert conversation.verdict() == ("", [])
    conversation.without(0)
    error, _ = conversation.verdict()
    assert "Expected `thinking` or `redacted_thinking`, but found `text`" in error


def test_gemini_wants_the_signatures_of_the_current_turn() -> None:
    """A call of the current turn without the signature that it came with is refused, one of an earlier turn is not."""
    answers = [Answer("", [("look", {}), ("run", {})]), Answer("", [("look", {})])]
    service = Service(lambda *_: answers.pop(0) if answers else Answer("done"))
    model = MODELS["gemini-3-pro"]
    messages: list[Message] = [{"role": "user", "content": "q"}]

    def request() -> Sent:
        return sent("gemini", "gemini", model.name, [], messages, in_place=False)

    for _ in range(2):
        content: list[Message] = []
        seal = ""
        for block in service.complete(model, request()):
            if block["type"] == "thought_signature":
                seal = block["signature"]
                continue
            call = {"type": "tool_call", "id": block["call_id"], "name": block["name"], "input": block["args"]}
            content.append({**call, **({"thought_signature": seal} if seal else {})})
            seal = ""
        messages.append({"role": "assistant", "content": content})
        messages += [{"role": "tool", "tool_call_id": block["id"], "content": "r"} for block in content]
    service.complete(model, request())
    signed = messages[1]["content"][0].pop("thought_signature")
    with pytest.raises(InvalidRequestError, match="missing a thought_signature"):
        service.complete(model, request())
    messages.append({"role": "user", "content": "next turn"})
    service.complete(model, request())
    messages[1]["content"][0]["thought_signature"] = signed[:-8] + "AAAAAAA="
    with pytest.raises(InvalidRequestError, match="Corrupted thought signature"):
        service.complete(model, request())


def test_the_servers_own_blocks_are_sent_back_as_long_as_they_fit() -> None:
    """As Amplifier's module for Claude does: thinking that is left in the metadata alone is sent all the same."""
    exact = [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": "t", "citations": []}]
    message = {"role": "assistant", "content": [{"type": "text", "text": "t"}]}
    with_wire = {**message, "metadata": {"anthropic": {"wire_content": exact}}}
    parts = sent("claude", "anthropic", "claude-opus-5-5", [], [with_wire], in_place=False).parts
    assert [json.loads(part.text) for part in parts] == [{"type": "thinking", "thinking": ""}, exact[1]]
    assert [part.mark for part in parts] == ["s", ""]
    with_wire["content"] = [{"type": "text", "text": "shortened"}]
    parts = sent("claude", "anthropic", "claude-opus-5-5", [], [with_wire], in_place=False).parts
    assert [json.loads(part.text)["text"] for part in parts] == ["shortened"]


def test_reasoning_that_nobody_produced_is_invalid() -> None:
    """The checker does not need a signature to say so."""
    conversation = Conversation().play(turns=1)
    last = conversation.service.exchanges[-1]
    assert [one.why for one in find_invalid([Exchange(conversation.request())])] == [
        "no request produced it",
        "it follows reasoning that is invalid",
    ]
    assert last.answer[0].mark
