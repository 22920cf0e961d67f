"""The Strands Agents SDK's `FileSessionManager` (package `strands-agents`): one file for each message.

The manager follows an agent's events, so messages are added as the agent adds them: to its list, then by its hooks. At
the end of each turn the agent's conversation manager takes effect, as after each invocation: with its default it
keeps about 40 messages, and a session that resumes loads these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .store import SESSION, Message

AGENT = "assistant"


def to_strands(message: Message) -> dict[str, Any]:
    """A message with its content in blocks."""
    if message["role"] == "tool":
        content = [{"text": message["content"]}]
        result = {"toolUseId": message["tool_call_id"], "status": "success", "content": content}
        return {"role": "user", "content": [{"toolResult": result}]}
    calls = [
        {"toolUse": {"toolUseId": call["id"], "name": call["tool"], "input": call["arguments"]}}
        for call in message.get("tool_calls", ())
    ]
    return {"role": message["role"], "content": [{"text": message["content"]}, *calls]}


def _model() -> Any:
    """A model that is never asked: an agent needs one."""
    from strands.models import Model

    def refuse(self: Any, *_arguments: Any, **_options: Any) -> Any:
        raise NotImplementedError("no model is asked here")

    methods = dict.fromkeys(("update_config", "structured_output", "stream"), refuse)
    return type("NoModel", (Model,), {**methods, "get_config": lambda self: {}})()


class StrandsFiles:
    """A session in a directory."""

    durability = "killed process: a file written aside and renamed for each message, no sync"

    async def open(self, directory: str) -> None:
        """Make the agent, which loads its messages."""
        from strands import Agent
        from strands.hooks import MessageAddedEvent
        from strands.session.file_session_manager import FileSessionManager

        self._added = MessageAddedEvent
        self._manager = FileSessionManager(session_id=SESSION, storage_dir=directory)
        self._agent = Agent(
            model=_model(), agent_id=AGENT, session_manager=self._manager, callback_handler=None, tools=[]
        )

    async def append(self, messages: Iterator[Message]) -> None:
        """Add one by one, as the agent's loop does."""
        agent = self._agent
        for message in messages:
            added = to_strands(message)
            agent.messages.append(added)
            await agent.hooks.invoke_callbacks_async(self._added(agent=agent, message=added))
            if message["role"] == "assistant" and not message.get("tool_calls"):
                agent.conversation_manager.apply_management(agent)
                self._manager.sync_agent(agent)

    async def fill(self, messages: Iterator[Message]) -> None:
        """Append: there is no other way."""
        await self.append(messages)

    async def read(self) -> list[Any]:
        """Read every message's file."""
        return [one.to_message() for one in self._manager.list_messages(SESSION, AGENT)]

    async def first(self) -> list[Any]:
        """The messages that the agent loaded."""
        return list(self._agent.messages)

    def text(self, item: Any) -> str:
        """The text of the first block."""
        block = item["content"][0]
        return str(block["text"] if "text" in block else block["toolResult"]["content"][0]["text"])

    async def close(self) -> None:
        """There is nothing to close."""
