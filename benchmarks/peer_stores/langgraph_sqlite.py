"""LangGraph's `SqliteSaver` (packages `langgraph` and `langgraph-checkpoint-sqlite`).

Messages are a graph's state. The graph here has one node that adds one message at each step, as an agent's loop does,
and runs with `durability="sync"`: a step's checkpoint is stored before the next step begins. The default, "async",
stores it while the next step runs, so a message is acknowledged before it is stored; "sync" is the level at which there
is something to compare. `MessagesState` is the documented state: each checkpoint holds all messages. With a
`DeltaChannel` (in beta) a checkpoint holds what was added, and every hundredth one holds all.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from typing import Annotated, Any

from .agents_sdk import synchronous
from .store import SESSION, Message

CONFIG = {"configurable": {"thread_id": SESSION}, "recursion_limit": 10_000_000}


def to_langchain(message: Message) -> Any:
    """A message as LangChain has it."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    if message["role"] == "tool":
        return ToolMessage(content=message["content"], tool_call_id=message["tool_call_id"])
    if message["role"] == "user":
        return HumanMessage(content=message["content"])
    calls = [
        {"name": call["tool"], "args": call["arguments"], "id": call["id"]} for call in message.get("tool_calls", ())
    ]
    return AIMessage(content=message["content"], tool_calls=calls)


class LangGraph:
    """A thread in a database of its own."""

    durability = ""

    async def open(self, directory: str) -> None:
        """Open the database and compile the graph."""
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import END, START, StateGraph
        from langgraph.types import Command

        def add(_state: Any) -> Any:
            message = next(self._waiting, None)
            if message is None:
                return Command(goto=END)
            return Command(goto="add", update={"messages": [to_langchain(message)]})

        path = os.path.join(directory, "checkpoints.sqlite")
        self._waiting: Iterator[Message] = iter(())
        self._connection = sqlite3.connect(path, check_same_thread=False)
        saver = SqliteSaver(self._connection)
        saver.setup()
        builder = StateGraph(self._state())
        builder.add_node("add", add, destinations=("add", END))
        builder.add_edge(START, "add")
        self._graph = builder.compile(checkpointer=saver)
        self.durability = f'power cut: {synchronous(path)}, durability="sync"'

    def _state(self) -> Any:
        from langgraph.graph import MessagesState

        return MessagesState

    async def append(self, messages: Iterator[Message]) -> None:
        """Run the graph until there are no more messages."""
        self._waiting = messages
        self._graph.invoke({"messages": []}, CONFIG, durability="sync")

    async def fill(self, messages: Iterator[Message]) -> None:
        """Give all as one input."""
        self._waiting = iter(())
        self._graph.invoke({"messages": [to_langchain(message) for message in messages]}, CONFIG, durability="sync")

    async def read(self) -> list[Any]:
        """Read the state."""
        return list(self._graph.get_state(CONFIG).values.get("messages", ()))

    async def first(self) -> list[Any]:
        """All messages of the state."""
        return await self.read()

    def text(self, item: Any) -> str:
        """The text of a message."""
        return str(item.content)

    async def close(self) -> None:
        """Close the database."""
        self._connection.close()


class LangGraphDeltas(LangGraph):
    """The same with what was added in place of all."""

    def _state(self) -> Any:
        from langgraph.channels import DeltaChannel
        from typing_extensions import TypedDict

        def extend(state: list[Any], writes: list[list[Any]]) -> list[Any]:
            return [*state, *(message for one in writes for message in one)]

        return TypedDict("Deltas", {"messages": Annotated[list, DeltaChannel(extend)]})
