"""The floor of a view: what of it cannot be compacted, in tokens by name, for errors and events."""

from __future__ import annotations

from ..view.rules import last_human
from .draft import Draft

OTHER_MESSAGES = "other messages"


def floor(draft: Draft) -> dict[str, int]:
    """What a draft still holds, in tokens by name: what may not be compacted, and what is left of the rest."""
    groups, last = draft.groups, last_human(draft.groups)
    parts = {"system prompt, tools and overhead": draft.fixed_tokens}
    names = {"system messages": 0, "pins": 0, "last human message": 0, "newest messages": 0, OTHER_MESSAGES: 0}
    for position in sorted(draft.fixed):
        group, tokens = groups[position], draft.sizes[position]
        if group.pinned:
            names["pins"] += tokens
        elif group.head.instructs:
            names["system messages"] += tokens
        elif position == last:
            names["last human message"] += tokens
        else:
            names["newest messages"] += tokens
    names[OTHER_MESSAGES] = draft.total_tokens - draft.fixed_tokens - sum(names.values())
    return parts | names


def pinned(draft: Draft) -> list[tuple[str, int]]:
    """The pinned messages of a draft, each with the tokens of the tool group that it holds."""
    found = []
    for position in draft.left():
        if draft.groups[position].pinned:
            named = next((entry.id for entry in draft.members[position] if entry.pinned and entry.id), "")
            found.append((named or draft.groups[position].head.id or "a message in no log", draft.sizes[position]))
    return found
