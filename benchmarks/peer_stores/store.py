"""The contract of a store, and the table of stores."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

Message = dict[str, Any]
"""As `benchmarks.conversation` makes it: `role`, `content`, `tool_calls`, `tool_call_id`."""

SESSION, BARE = "measured", "bare file"


class Store(Protocol):
    """A session of one package, in a directory of its own.

    Each is used as the documentation of its package says, with the settings that it has when it is installed.
    """

    durability: str
    """What an acknowledged message survives, and by which setting; known once it is open."""

    async def open(self, directory: str) -> None:
        """Open the session in a directory, or begin it there.

        Raises:
            ImportError: the package is not installed.
        """

    async def append(self, messages: Iterator[Message]) -> None:
        """Append messages one by one; the next one is asked for when the one before it is stored, never earlier."""

    async def fill(self, messages: Iterator[Message]) -> None:
        """Append many messages in the quickest way that leaves what `append` would leave."""

    async def read(self) -> list[Any]:
        """Read the whole history back, in the form that the package gives it."""

    async def first(self) -> list[Any]:
        """What a session that resumes would give to the model at its first request."""

    def text(self, item: Any) -> str:
        """The text of one item that `read` gave; empty if it has none."""

    async def close(self) -> None:
        """Close the session."""


STORES = {
    "ours": ("persistent", "Durable"),
    "ours, write": ("persistent", "Written"),
    "Agents SDK, SQLite": ("agents_sdk", "AgentsSession"),
    "Strands, files": ("strands_files", "StrandsFiles"),
    "LangGraph, SQLite": ("langgraph_sqlite", "LangGraph"),
    "LangGraph, deltas": ("langgraph_sqlite", "LangGraphDeltas"),
    BARE: ("bare_file", "BareFile"),
}
"""By name: the module in this package, and the class in it. The first one is what all others are compared with."""

REQUIREMENTS = (
    "openai-agents==0.24.0",
    "strands-agents==1.62.0",
    "langgraph==1.2.22",
    "langgraph-checkpoint-sqlite==3.1.2",
)
"""What the stores of others need, at the versions that the documentation's figures were measured with."""

OURS = frozenset({"ours", "ours, write", BARE})
"""Those that need nothing that is not installed with this project."""


def new_store(name: str) -> Store:
    """Make the store of a name; it is not open yet."""
    module, cls = STORES[name]
    store: Store = getattr(import_module(f".{module}", __package__), cls)()
    return store
