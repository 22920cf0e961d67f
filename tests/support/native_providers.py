"""Stand-ins for providers that compact by themselves, as their documentation and their modules' convention say.

`ClaudeModule` follows Claude's docs (on-demand compaction, beta `compact-2026-09-04`, and preserved thinking): one
signed block first, for the same model; thinking is valid where all before it stands as it stood, or where a block took
its place: made with the same system text, and followed by a message of another role than the last summed up.
`OpenAIModule` follows OpenAI's (`/responses/compact`): the returned window unchanged, for the same model; no reasoning
is said to stay valid after it. Both refuse a request that breaks a rule, and keep what they were asked.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from tests.support.messages import Message

SYSTEM = ("system", "developer")


class ProtocolError(Exception):
    """A request that the provider refuses."""


def digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def wire_role(message: Message) -> str:
    return "user" if message["role"] in ("tool", "function") else str(message["role"])


def plain(message: Any) -> Message:
    return message if isinstance(message, dict) else message.model_dump(exclude_none=True)


class NativeModule:
    """A provider's module, and the service behind it.

    Args:
        name: the account.
        model: what it asks for.
        window: the most tokens of a request.
    """

    key = ""

    def __init__(self, name: str, model: str, *, window: int = 1_000_000) -> None:
        self.name, self.default_model, self.window = name, model, window
        self.supports, self.accepts = True, True
        self.fails: BaseException | None = None
        self.gate: asyncio.Event | None = None
        """Where set, a compaction waits for it."""
        self.compacted: list[Any] = []
        self.requests: list[list[Message]] = []
        self.refusals: list[str] = []
        self.tools: Any = None

    # -- the convention ----------------------------------------------------------------------------------------------

    def get_info(self) -> Any:
        return SimpleNamespace(defaults={"model": self.default_model})

    def supports_native_compaction(self) -> bool:
        return self.supports

    def validate_compacted_context(self, message: Message) -> bool:
        if not self.accepts:
            return False
        state = (message.get("metadata") or {}).get(self.key)
        if state is None or state["model"] != self.default_model:
            raise ValueError("another model, or no item")
        return self.is_sound(state)

    async def compact_context(self, request: Any) -> Message:
        self.compacted.append(request)
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        if self.fails is not None:
            raise self.fails
        assert request.metadata["native_compaction_request_context"] is True
        assert request.max_output_tokens
        assert request.model == self.default_model
        messages = [plain(message) for message in request.messages]
        chains, roles = self.check(messages)
        state = {"version": 1, "model": self.default_model, **self.item(messages, chains, roles)}
        metadata = {"source": "context-managed", "ephemeral": True, "persisted": True, self.key: state}
        usage = {"input_tokens": len(json.dumps(messages)) // 4, "output_tokens": 80}
        return {
            "kind": "native",
            "message": {"role": "user", "content": "Native compacted conversation.", "metadata": metadata},
            "usage": usage,
        }

    # -- the service -------------------------------------------------------------------------------------------------

    def send(self, view: Sequence[Message]) -> Message:
        """Check a request as the service does, and answer it with reasoning of its own.

        Raises:
            ProtocolError: it is refused.
        """
        view = copy.deepcopy(list(view))
        self.requests.append(view)
        try:
            chains, _ = self.check(view)
        except ProtocolError as error:
            self.refusals.append(str(error))
            raise
        return self.answer(chains[0], len(self.requests))

    def check(self, messages: list[Message]) -> tuple[list[str], list[str]]:
        """The chains of what was sent, and the roles of its messages."""
        seed = digest([m["content"] for m in messages if m["role"] in SYSTEM], self.default_model)
        talk = [m for m in messages if m["role"] not in SYSTEM]
        chains, roles, waiting = [seed], list[str](), list[str]()
        for at, message in enumerate(talk):
            state = (message.get("metadata") or {}).get(self.key)
            if state is not None:
                if at or state["model"] != self.default_model or not self.is_sound(state):
                    raise ProtocolError("an item that is not first, of another model, or altered")
                after = talk[1] if len(talk) > 1 else None
                chains = [digest(seed, state), *self.stand_for(state, seed, after)]
                roles.append("item")
                continue
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    raise ProtocolError("a result without its call")
                waiting.remove(message["tool_call_id"])
            elif waiting:
                raise ProtocolError("a call without its result")
            waiting += [call["id"] for call in message.get("tool_calls") or []]
            self.check_reasoning(message, chains)
            chains = [digest(chain, message["role"], self.sent(message)) for chain in chains]
            roles.append(wire_role(message))
        if waiting:
            raise ProtocolError("a call without its result")
        if not roles:
            raise ProtocolError("an empty request")
        return chains, roles

    def sent(self, message: Message) -> Any:
        """What the service gets of a message."""
        return [message.get("content"), message.get("tool_calls"), message.get("tool_call_id")]

    def check_reasoning(self, message: Message, chains: list[str]) -> None:
        raise NotImplementedError

    def answer(self, chain: str, number: int) -> Message:
        raise NotImplementedError

    def item(self, messages: list[Message], chains: list[str], roles: list[str]) -> Message:
        raise NotImplementedError

    def is_sound(self, state: Message) -> bool:
        raise NotImplementedError

    def stand_for(self, state: Message, seed: str, after: Message | None) -> list[str]:
        return []


class ClaudeModule(NativeModule):
    """A model with preserved thinking."""

    key = "anthropic:compaction"

    def __init__(self, model: str = "claude-fable-5-2", **more: Any) -> None:
        super().__init__("anthropic", model, **more)

    def answer(self, chain: str, number: int) -> Message:
        thinking = {"type": "thinking", "thinking": f"thought {number}", "signature": digest("sig", chain)}
        return {"role": "assistant", "content": [thinking, {"type": "text", "text": f"answer {number} " * 60}]}

    def check_reasoning(self, message: Message, chains: list[str]) -> None:
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "thinking" and block.get("signature") not in [digest("sig", c) for c in chains]:
                raise ProtocolError("a thinking block that is bound to a different conversation")

    def item(self, messages: list[Message], chains: list[str], roles: list[str]) -> Message:
        seed = digest([m["content"] for m in messages if m["role"] in SYSTEM], self.default_model)
        content = json.dumps({"chains": chains, "role": roles[-1], "seed": seed, "summary": "said before " * 20})
        return {"block": {"type": "compaction", "content": content, "signature": digest("block", content)}}

    def is_sound(self, state: Message) -> bool:
        return bool(state["block"]["signature"] == digest("block", state["block"]["content"]))

    def stand_for(self, state: Message, seed: str, after: Message | None) -> list[str]:
        told = json.loads(state["block"]["content"])
        if after is None or seed != told["seed"] or wire_role(after) == told["role"]:
            return []
        return list(told["chains"])


class OpenAIModule(NativeModule):
    """A model that reads reasoning wherever all before it stands as it stood."""

    key = "openai:compaction"

    def __init__(self, model: str = "gpt-6.2", **more: Any) -> None:
        super().__init__("openai", model, **more)

    def answer(self, chain: str, number: int) -> Message:
        items = [{"type": "reasoning", "encrypted_content": digest("sealed", chain)}]
        text = f"answer {number} " * 60
        return {"role": "assistant", "content": text, "metadata": {"openai:reasoning_items": items}}

    def check_reasoning(self, message: Message, chains: list[str]) -> None:
        for item in (message.get("metadata") or {}).get("openai:reasoning_items") or []:
            if item["encrypted_content"] not in [digest("sealed", chain) for chain in chains]:
                raise ProtocolError("reasoning after a place that changed")

    def item(self, messages: list[Message], chains: list[str], roles: list[str]) -> Message:
        kept = [{"type": "message", "role": "user", "content": "kept by the provider"}]
        return {"output": [*kept, {"type": "compaction", "encrypted_content": digest("window", chains) * 40}]}

    def is_sound(self, state: Message) -> bool:
        kinds = [item["type"] for item in state["output"]]
        return kinds == ["message", "compaction"] and len(state["output"][1]["encrypted_content"]) == 64 * 40
