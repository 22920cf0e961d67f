"""Read the origin of an imported or forked session from its log: linked sessions and earlier compactions.

The source is the agent that a session was imported from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..log.index import Index
from ..log.record_line import name_of
from .transcript import Transcript

_OWN_FIELDS = {"_record", "version", "log_id", "session_id", "tokenizer", "created"}
"""The header keys that sessions of this package write. An import or a fork adds others."""


@dataclass(frozen=True, slots=True)
class SourceCompaction:
    """A compaction that the source made, after the live message at `position` (from 0)."""

    position: int
    dropped: int
    kept: int
    tokens_before: int
    tokens_after: int
    summary: str

    def to_json(self) -> dict[str, Any]:
        """Return the compaction as plain JSON types, without its position."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "position"}

    def line(self) -> str:
        """Return a one-line description of the compaction."""
        tokens = f"{self.tokens_before:,} to {self.tokens_after:,} tokens"
        left_out = f"{self.dropped:,} message{'' if self.dropped == 1 else 's'} left out"
        return f"the source compacted here: {left_out}, {self.kept:,} kept, {tokens}"


def source_compactions(transcript: Transcript) -> dict[int, SourceCompaction]:
    """Return the compactions that the source of an imported session made.

    The keys are positions in the live history: each compaction came right after the message at its position.
    """
    index = transcript.reader.index
    has_plans = index.control_counts.get("plan", 0) > 0
    if not has_plans or _is_own(index):
        return {}
    from ..view.plan import Plan  # it loads half of the package, and most logs were not imported
    from .find_request import imported_plans

    compactions: dict[int, SourceCompaction] = {}
    for position, kept_count, record in imported_plans(index, transcript.book):
        plan = Plan.from_record(record, ())
        compactions[position] = SourceCompaction(
            position,
            dropped=plan.left_out.messages,
            kept=kept_count,
            tokens_before=plan.making.tokens_before,
            tokens_after=plan.making.tokens_after,
            summary=plan.summary or name_of(record.get("notice")),
        )
    return compactions


def _is_own(index: Index) -> bool:
    """Return whether all headers of a log were written by sessions, so that no plan in it was imported."""
    return bool(index.headers) and all(header.keys() <= _OWN_FIELDS for header in index.headers)


@dataclass(frozen=True, slots=True)
class Relatives:
    """The sessions that a session is linked to, by id, or by path if a session has no id.

    `call_id` is the id of the parent's call that started this session as a sub-agent.
    """

    parent: str = ""
    call_id: str = ""
    subagents: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    subagent_tasks: tuple[str, ...] = ()
    """The type and the task of each sub-agent, in the order of `subagents`; empty if the source of an import lacks
    these."""
    continued: str = ""
    """The id in the source of the session that this one was forked from or continues."""

    def lines(self) -> list[str]:
        """Return a line for each kind of linked session."""
        lines = []
        if self.parent:
            call = f" (call {self.call_id})" if self.call_id else ""
            lines.append(f"Parent: {self.parent}{call}")
        if self.continued:
            lines.append(f"Forked from: {self.continued}")
        if self.subagents:
            tasks = dict(zip(self.subagents, self.subagent_tasks, strict=False))
            names = [f"{name} ({tasks[name]})" if tasks.get(name) else name for name in self.subagents]
            lines.append(f"Sub-agents: {', '.join(names)}")
        if self.branches:
            lines.append(f"Branches: {', '.join(self.branches)}")
        return lines


def relatives_of(header: Mapping[str, Any]) -> Relatives:
    """Return the linked sessions in a log's header."""
    source = header.get("source")
    facts = source if isinstance(source, dict) else {}
    return Relatives(
        _text(header.get("parent_id")),
        _text(facts.get("spawned_by")),
        subagents=_texts(facts.get("subagents")),
        branches=_texts(facts.get("branches")),
        subagent_tasks=_texts(facts.get("subagent_tasks")),
        continued=_text(facts.get("forked_from_session")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    """Return the texts in a list; () if the value is not a list."""
    if not isinstance(value, list):
        return ()
    return tuple(text for text in value if isinstance(text, str))
