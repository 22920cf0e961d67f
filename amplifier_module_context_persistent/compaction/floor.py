"""The floor of a view: what of it cannot be compacted, in tokens by name, for errors and events."""

from __future__ import annotations

from itertools import compress

from .draft import Draft

OTHER_MESSAGES = "other messages"


def floor(draft: Draft) -> dict[str, int]:
    """What a draft still holds, in tokens by name: what may not be compacted, and what is left of the rest."""
    groups, last = draft.view.groups, draft.view.turn
    parts = {"system prompt, tools and overhead": draft.fixed_tokens}
    names = {"system messages": 0, "pins": 0, "last human message": 0, "newest messages": 0, OTHER_MESSAGES: 0}
    for position in sorted(draft.fixed):
        group = groups[position]
        kinds = (
            ("pins", group.pinned),
            ("system messages", group.head.instructs),
            ("last human message", position == last),
        )
        names[next((name for name, holds in kinds if holds), "newest messages")] += draft.sizes[position]
    names[OTHER_MESSAGES] = own_tokens(draft) - sum(names.values())
    return parts | names


def own_tokens(draft: Draft) -> int:
    """What the messages come to that stay, without what is inserted."""
    return sum(compress(draft.sizes, draft.kept))


def pinned(draft: Draft) -> list[tuple[str, int]]:
    """The pinned messages of a draft, each with the tokens of the tool group that it holds."""
    found = []
    for position in draft.left():
        if draft.view.groups[position].pinned:
            named = next((entry.id for entry in draft.view.members[position] if entry.pinned and entry.id), "")
            found.append((named or draft.view.groups[position].head.id or "a message in no log", draft.sizes[position]))
    return found
