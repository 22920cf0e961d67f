"""The sessions that a session's header links to: its parent, its sub-agents and its branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Relatives:
    """Ids, or paths where a session has none. `call_id` is the parent's call that started a sub-agent."""

    parent: str = ""
    call_id: str = ""
    subagents: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """What there is of them, a line for each kind."""
        called = f" (call {self.call_id})" if self.call_id else ""
        told = (("Parent", f"{self.parent}{called}" if self.parent else ""),)
        listed = (("Sub-agents", ", ".join(self.subagents)), ("Branches", ", ".join(self.branches)))
        return [f"{title}: {names}" for title, names in (*told, *listed) if names]


def relatives_of(header: Mapping[str, Any]) -> Relatives:
    """Read the links of a log's header."""
    source = header.get("source")
    told = source if isinstance(source, dict) else {}
    return Relatives(
        _text(header.get("parent_id")),
        _text(told.get("spawned_by")),
        _texts(told.get("subagents")),
        _texts(told.get("branches")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
