"""Providers that sign their reasoning over what they were sent, and refuse or drop what no longer fits.

A stand-in for the services and for Amplifier's provider modules in one. It keeps no state that it needs: a signature
says what the request held, as with the real ones, so another process can check it. What it answers comes from a script.

| model | what it checks | what happens else |
| --- | --- | --- |
| newer Claude models | nothing before the reasoning changed, none between was left out | 400 |
| older Claude models | a running tool loop begins with its thinking | 400 |
| all Claude models | signature is whole and there; calls have results; no blank text | 400 |
| all Claude models | the model can read the block | dropped |
| OpenAI | the item is of this account | 400 |
| OpenAI | nothing before the item changed; the model can read it | dropped |
| Gemini | the first call of each step of the current turn has the signature that it came with | 400 |

Sources: Claude, "Preserved thinking", "Prefix checks on thinking blocks", "Extended thinking with tool use"; OpenAI,
"Keep the prefix unchanged"; Google, "Thought signatures". Looked up on 2026-11-22.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from amplifier_core.llm_errors import InvalidRequestError, LLMError
from amplifier_core.message_models import (
    ChatResponse,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    Usage,
)
from amplifier_core.models import ProviderInfo

from tests.support.messages import Message
from tests.support.reasoning_rules import Exchange
from tests.support.sent_requests import CLAUDE, GEMINI, OPENAI, Part, Sent, as_part, sent

LLM_ERRORS = (LLMError, ConnectionError)
_SECRET = b"of the stand-in"


@dataclass(frozen=True, slots=True)
class Model:
    """What one model does with reasoning."""

    family: str
    name: str
    reads: frozenset[str]
    """The models whose reasoning it reads."""
    binds: bool = True
    """Whether reasoning is bound to what came before it."""
    account_bound: bool = False


MODELS = {
    model.name: model
    for model in (
        Model(CLAUDE, "claude-opus-5-5", frozenset({"claude-opus-5-5"})),
        Model(CLAUDE, "claude-fable-5-1", frozenset({"claude-fable-5-1", "claude-opus-5-5", "claude-opus-5"})),
        Model(CLAUDE, "claude-sonnet-5-5", frozenset({"claude-sonnet-5-5"}), account_bound=True),
        Model(CLAUDE, "claude-sonnet-4-5", frozenset({"claude-sonnet-4-5"}), binds=False),
        Model(OPENAI, "gpt-6.2", frozenset({"gpt-6.2"}), account_bound=True),
        Model(OPENAI, "gpt-6.2-mini", frozenset({"gpt-6.2-mini"}), account_bound=True),
        Model(GEMINI, "gemini-3-pro", frozenset({"gemini-3-pro"}), binds=False),
    )
}
ACCOUNTS = {CLAUDE: "anthropic", OPENAI: "openai", GEMINI: "gemini"}


@dataclass(slots=True)
class Answer:
    """What a script wants answered."""

    text: str = ""
    calls: list[tuple[str, Message]] = field(default_factory=list)
    """The name and the arguments of each."""
    thoughts: tuple[str, ...] = ()
    """Of each block of reasoning before the text: `plain`, `empty` (only its signature) or `redacted`."""
    between: bool = False
    """Whether there is reasoning between the calls, too."""
    blank: bool = False
    """Whether blank text stands before the calls, as it does now and then; it cannot be sent back."""


Script = Callable[[Sent, bool], Answer]
"""Is given the request, and whether a loop asks; else it is a request of another kind, such as for a summary."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that got a 400."""

    number: int
    model: str
    error: str


class Service:
    """The providers' side of a session: what was sent, answered, refused and dropped.

    Args:
        script: says what to answer.
        label: begins the ids of calls, so that no two services give the same.
        says_more: whether calls of Claude models have a field that Amplifier's core does not know.
    """

    def __init__(self, script: Script, label: str = "s", *, says_more: bool = False) -> None:
        self.script, self.label, self._says_more = script, label, says_more
        self.exchanges: list[Exchange] = []
        self.bound_requests: list[int] = []
        """Numbers of requests to models that bind reasoning to what came before it."""
        self.refusals: list[Refusal] = []
        self.dropped: list[tuple[int, str, str]] = []
        """Number, place and reason of reasoning that was left out without an error."""
        self.journal: Callable[[Exchange, str], None] = lambda *_: None
        """Told of each request with the error that it got, and again with its answer before that is given."""
        self.failures: list[Exception] = []
        """Raised by the next requests, one each, before they are answered: a network that is down, for example."""
        self.same_ids = False
        """Whether the calls of each answer count from 0, as some gateways have it."""
        self._serial = 0

    def complete(self, model: Model, request: Sent, *, for_loop: bool = True) -> list[Message]:
        """Check a request and answer it.

        Raises:
            InvalidRequestError: it is refused; the text is the documented one.
            Exception: what `failures` holds.
        """
        number = len(self.exchanges)
        self.exchanges.append(Exchange(request))
        if model.binds:
            self.bound_requests.append(number)
        error = self._check(number, model, request)
        self.journal(self.exchanges[number], error)
        if error:
            self.refusals.append(Refusal(number, model.name, error))
            raise InvalidRequestError(f"400 invalid_request_error: {error}", provider=request.provider, status_code=400)
        if self.failures:
            raise self.failures.pop(0)
        blocks = self._answer(model, request, self.script(request, for_loop))
        answer = tuple(as_part(block, "assistant", f"answer.{at}") for at, block in enumerate(blocks))
        self.exchanges[number] = Exchange(request, answer)
        self.journal(self.exchanges[number], "")
        return blocks

    # -- answering ---------------------------------------------------------------------------------------------------

    def _answer(self, model: Model, request: Sent, wanted: Answer) -> list[Message]:
        """Write the blocks of an answer, each piece of reasoning signed over all before it."""
        blocks: list[Message] = []

        def think(kind: str) -> None:
            parts = [*request.parts, *(as_part(block, "assistant", "") for block in blocks)]
            blocks.append(self._reasoning(model, request, parts, kind))

        thinks = model.family != GEMINI
        for kind in wanted.thoughts if thinks else ():
            think(kind)
        if wanted.text:
            blocks.append({"type": "message", "content": wanted.text} if model.family == OPENAI else _text(wanted.text))
        if wanted.blank and wanted.calls and model.family == CLAUDE:
            blocks.append(_text("\n\n"))
        for number, (name, arguments) in enumerate(wanted.calls):
            if thinks and wanted.between and number:
                think("plain")
            self._serial += 1
            count = f"call_{number}" if self.same_ids else f"{self.label}{self._serial}"
            call_id = f"{'think' if wanted.thoughts else 'plain'}_{model.name}_{count}"
            if model.family == GEMINI and not number:
                seal = _sign(model, request, [*request.parts], f"call {call_id}")
                blocks.append({"type": "thought_signature", "signature": seal})
            more = {"caller": {"type": "direct"}} if self._says_more and model.family == CLAUDE else {}
            blocks.append({**_call(model.family, call_id, name, arguments), **more})
        return blocks

    def _reasoning(self, model: Model, request: Sent, before: Sequence[Part], kind: str) -> Message:
        self._serial += 1
        text = "" if kind == "empty" else f"I think of step {self.label}{self._serial}."
        if model.family == OPENAI:
            item: Message = {"type": "reasoning", "id": f"rs_{self.label}{self._serial}"}
            item["summary"] = [{"type": "summary_text", "text": text}]
            return {**item, "encrypted_content": _sign(model, request, before, _own(item))}
        block: Message = {"type": "redacted_thinking"} if kind == "redacted" else {"type": "thinking", "thinking": text}
        seal = _sign(model, request, before, f"{_own(block)}{self._serial if kind == 'redacted' else ''}")
        return {**block, "data" if kind == "redacted" else "signature": seal}

    # -- checking ----------------------------------------------------------------------------------------------------

    def _check(self, number: int, model: Model, request: Sent) -> str:
        """The text of the error that a request gets; empty where it is answered."""
        form = {CLAUDE: _claude_form, OPENAI: _openai_form, GEMINI: _gemini_calls}[model.family](model, request)
        return form or self._check_reasoning(number, model, request)

    def _check_reasoning(self, number: int, model: Model, request: Sent) -> str:
        running, marks, broken = _head_digest(request), [], False
        for part in request.parts:
            if not part.mark:
                running = _next_digest(running, part)
                continue
            sealed = _read_seal(part)
            if sealed is None:
                return _broken_seal(model, part)
            mine = marks
            marks = [*marks, _short(part.mark)]
            foreign = sealed["account"] != request.provider
            if model.family == OPENAI and foreign:
                return "invalid_encrypted_content: The encrypted content could not be verified."
            if sealed["model"] not in model.reads or (foreign and MODELS[sealed["model"]].account_bound):
                self.dropped.append((number, part.place, "the model cannot read it"))
                continue
            if not model.binds:
                continue
            broken = broken or sealed["before"] != running.hex() or not _ends_with(sealed["marks"], mine)
            if broken and model.family == CLAUDE:
                return (
                    f"{part.place}: Invalid `signature` in `{part.kind}` block. The block is bound to a different "
                    "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
                    '"drop_block".'
                )
            if broken:
                self.dropped.append((number, part.place, "prefix_mismatch"))
        return ""


# -- signatures ------------------------------------------------------------------------------------------------------


def _sign(model: Model, request: Sent, before: Sequence[Part], own: str) -> str:
    running, marks = _head_digest(request), []
    for part in before:
        if part.mark:
            marks.append(_short(part.mark))
        else:
            running = _next_digest(running, part)
    account = request.provider
    body = {"model": model.name, "account": account, "before": running.hex(), "marks": marks, "own": _short(own)}
    text = json.dumps(body)
    return base64.b64encode(f"{text}|{_seal(text)}".encode()).decode()


def _read_seal(part: Part) -> Message | None:
    """What a signature says; None where it is none of ours, or where its block was altered."""
    try:
        text, _, seal = base64.b64decode(part.mark, validate=True).decode().rpartition("|")
    except ValueError:
        return None
    if not hmac.compare_digest(seal, _seal(text)):
        return None
    sealed: Message = json.loads(text)
    whole = part.kind in ("redacted_thinking", "thought_signature") or sealed["own"] == _short(part.text)
    return sealed if whole else None


def _seal(text: str) -> str:
    return blake2b(text.encode(), key=_SECRET, digest_size=8).hexdigest()


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()


def _own(block: Message) -> str:
    return as_part(block, "assistant", "").text


def _head_digest(request: Sent) -> bytes:
    return blake2b(json.dumps([request.tools, request.system]).encode(), digest_size=16).digest()


def _next_digest(running: bytes, part: Part) -> bytes:
    return blake2b(running + json.dumps([part.role, part.text]).encode(), digest_size=16).digest()


def _ends_with(marks: Sequence[str], end: Sequence[str]) -> bool:
    return len(end) <= len(marks) and list(marks[len(marks) - len(end) :]) == list(end)


# -- what each family checks beside it -------------------------------------------------------------------------------


def _broken_seal(model: Model, part: Part) -> str:
    if model.family == CLAUDE:
        return f"{part.place}: Invalid `signature` in `{part.kind}` block"
    if model.family == OPENAI:
        return "invalid_encrypted_content: The encrypted content could not be verified."
    return "Corrupted thought signature."


def _claude_form(model: Model, request: Sent) -> str:
    """The rules that hold for every request to a Claude model, bound or not."""
    waiting: list[str] = []
    for at, part in enumerate(request.parts):
        if part.kind == "thinking" and not part.mark:
            return f"{part.place}.thinking.signature: Field required"
        if part.kind == "text" and not json.loads(part.text)["text"].strip():
            return f"{part.place}: text content blocks must be non-empty"
        if part.kind == "tool_result":
            if part.name not in waiting:
                return f"{part.place}: unexpected `tool_use_id` found in `tool_result` blocks: {part.name}"
            waiting.remove(part.name)
        elif waiting and (part.role != "assistant" or request.parts[at - 1].role != "assistant"):
            return f"{part.place}: `tool_use` ids were found without `tool_result` blocks immediately after: {waiting}"
        elif part.kind == "tool_use":
            waiting.append(part.name)
    if waiting:
        return f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}"
    return "" if model.binds else _older_claude_loop(model, request)


def _openai_form(_: Model, request: Sent) -> str:
    """Every call has its output, and every output its call."""
    called = [part.name for part in request.parts if part.kind == "function_call"]
    answered = [part.name for part in request.parts if part.kind == "function_call_output"]
    missing = [name for name in called if name not in answered]
    if missing:
        return f"No tool output found for function call {missing[0]}."
    unknown = [name for name in answered if name not in called]
    return f"No tool call found for function call output with call_id {unknown[0]}." if unknown else ""


def _older_claude_loop(model: Model, request: Sent) -> str:
    """A tool loop in progress begins its last answer with the thinking that it was given with."""
    parts, at = request.parts, len(request.parts)
    while at and parts[at - 1].kind == "tool_result":
        at -= 1
    if at == len(parts) or not at:
        return ""
    last = at
    while at and parts[at - 1].role == "assistant":
        at -= 1
    mine = any(part.name.startswith(f"think_{model.name}_") for part in parts[at:last])
    if mine and parts[at].kind not in ("thinking", "redacted_thinking"):
        return (
            f"{parts[at].place}.type: Expected `thinking` or `redacted_thinking`, but found `{parts[at].kind}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block"
        )
    return ""


def _gemini_calls(model: Model, request: Sent) -> str:
    """The first call of each step of the current turn has its signature, and no signature is another model's."""
    parts = request.parts
    start = max((at for at, part in enumerate(parts) if part.role == "user" and part.kind == "text"), default=0)
    for at, part in enumerate(parts):
        if part.kind == "thought_signature":
            sealed = _read_seal(part)
            if sealed is None or sealed["model"] not in model.reads:
                return "Corrupted thought signature."
        first = part.kind == "function_call" and (not at or parts[at - 1].role != "assistant" or parts[at - 1].mark)
        mine = model.name in part.name
        if at > start and first and mine and not parts[at - 1].mark:
            return f"Function call is missing a thought_signature in functionCall parts. Function call `{part.name}`"
    return ""


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _call(family: str, call_id: str, name: str, arguments: Message) -> Message:
    if family == CLAUDE:
        return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    if family == OPENAI:
        text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}
    return {"type": "function_call", "call_id": call_id, "name": name, "args": arguments}


async def _nothing() -> None:
    """Nothing happens."""


# -- the provider module ---------------------------------------------------------------------------------------------


class EnforcingProvider:
    """A mounted provider that sends to the service what a module of its family would, and reads the answer likewise.

    Args:
        service: what it sends to.
        coordinator: gets the events of a request.
        model: the model's name.
        name: the provider's name, which stands for its account.
        in_place: whether late system messages stay in their places.
        keeps_wire: whether answers carry the server's own blocks in their metadata.
        tells: whether it emits `llm:request` and `llm:response`.
    """

    def __init__(
        self,
        service: Service,
        coordinator: Any,
        model: str,
        *,
        name: str = "",
        in_place: bool = False,
        keeps_wire: bool = False,
        tells: bool = True,
    ) -> None:
        self._service, self._coordinator, self.model = service, coordinator, MODELS[model]
        self.name, self.default_model = name or ACCOUNTS[self.model.family], model
        self._in_place, self._keeps_wire = in_place and self.model.family == CLAUDE, keeps_wire
        self._tells = tells
        self.before_answer: Callable[[], Awaitable[None]] = _nothing
        """Runs while a request is on its way."""

    def get_info(self) -> Any:
        """Say who this is."""
        return ProviderInfo(id=self.name, display_name=self.name)

    async def list_models(self) -> list[Any]:
        """List no models."""
        return []

    async def complete(self, request: Any, *, for_loop: bool = False, **_: Any) -> Any:
        """Send a request and give the answer back; events as a provider module emits them."""
        tools = [tool.model_dump(exclude_none=True) for tool in request.tools or ()]
        messages = [message.model_dump() for message in request.messages]
        family, model = self.model.family, self.default_model
        written = sent(family, self.name, model, tools, messages, in_place=self._in_place)
        about = {"provider": self.name, "model": model}
        await self._tell("llm:request", **about, message_count=len(messages))
        try:
            blocks = self._service.complete(self.model, written, for_loop=for_loop)
            await self.before_answer()
        except LLM_ERRORS as error:
            await self._tell("llm:response", **about, status="error", error=str(error))
            raise
        size = sum(len(part.text) for part in written.parts) + len(written.tools) + sum(map(len, written.system))
        usage = {"input_tokens": size // 4, "output_tokens": 50, "total_tokens": size // 4 + 50}
        await self._tell("llm:response", **about, status="ok", usage=usage)
        return self._response(blocks, Usage(**usage))

    def parse_tool_calls(self, response: Any) -> list[Any]:
        """Return the calls of a response."""
        return list(response.tool_calls or ())

    async def _tell(self, event: str, **payload: Any) -> None:
        if self._tells:
            await self._coordinator.hooks.emit(event, payload)

    def _response(self, blocks: Sequence[Message], usage: Any) -> Any:
        content, calls, metadata, seal = [], [], {}, ""
        for block in blocks:
            kind = block["type"]
            if kind == "thought_signature":
                seal = block["signature"]
            elif kind == "thinking":
                content.append(ThinkingBlock(thinking=block["thinking"], signature=block["signature"]))
            elif kind == "redacted_thinking":
                content.append(RedactedThinkingBlock(data=block["data"]))
            elif kind == "reasoning":
                state = [block["encrypted_content"], block["id"]]
                content.append(ThinkingBlock(thinking=block["summary"][0]["text"], content=state))
                metadata.setdefault("openai:reasoning_items", []).append(block)
            elif kind in ("text", "message"):
                content.append(TextBlock(text=block.get("text", block.get("content"))))
            else:
                calls.append(_tool_call(block))
                extra = {"thought_signature": seal} if seal else {}
                content.append(ToolCallBlock(id=calls[-1].id, name=block["name"], input=calls[-1].arguments, **extra))
                seal = ""
        if self._keeps_wire and self.model.family == CLAUDE:
            metadata["anthropic"] = {"wire_content": list(blocks)}
        return ChatResponse(content=content, tool_calls=calls or None, usage=usage, metadata=metadata or None)


def _tool_call(block: Message) -> Any:
    arguments = block.get("input", block.get("args"))
    if arguments is None:
        arguments = json.loads(block["arguments"])
    return ToolCall(id=block.get("id") or block["call_id"], name=block["name"], arguments=arguments)
