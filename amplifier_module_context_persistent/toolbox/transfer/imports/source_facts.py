"""Facts about an imported session from its source: its title, its directory, and the task of a sub-agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .drafts import SessionDraft


def task_of(facts: Mapping[str, Any]) -> str:
    """Return a sub-agent's type and its task on one line, or "" if the source names neither."""
    parts = (facts.get("agent_type"), facts.get("description"))
    return ": ".join(words for words in parts if isinstance(words, str) and words)


def title_of(draft: SessionDraft) -> str:
    """Return the title that the source gives a session, or "" if there is none.

    The title of a branch ends in `(branch)`. A sub-agent's session has no title.
    """
    return title_among(draft.start.facts, draft)


def title_among(facts: Mapping[str, Any], draft: SessionDraft) -> str:
    """Return the title among facts of a session's source, as `title_of` returns it; "" if there is none."""
    title = facts.get("title")
    if not isinstance(title, str) or not title.strip() or draft.start.kind == "subagent":
        return ""
    return f"{title} (branch)" if draft.start.kind == "branch" else title


def directory_of(main: SessionDraft) -> str | None:
    """Return the working directory that a session's source names, or None if it names no absolute path."""
    source_dir = main.start.facts.get("cwd")
    if not isinstance(source_dir, str) or not os.path.isabs(source_dir) or not source_dir.isprintable():
        return None
    return source_dir
