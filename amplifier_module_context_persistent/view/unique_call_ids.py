"""Ids of calls in a view: each is accepted by the reader, and no two calls have the same."""

from __future__ import annotations

from collections.abc import Sequence

from .tool_groups import Group
from .wire_rules import TAKES_ALL, WireRules


def unique_call_ids(groups: Sequence[Group], seen: set[str], wire: WireRules = TAKES_ALL) -> dict[tuple[int, int], str]:
    """Return new ids for calls whose id the reader refuses, or whose id an earlier call has.

    Some providers use `call_0` again in each turn. The keys are the ordinal of the message and the position of the call
    in the message.

    Args:
        groups: the groups, in order.
        seen: the ids of earlier calls; the ids of these groups are added.
        wire: the reader's rules for ids.
    """
    renamed: dict[tuple[int, int], str] = {}
    for group in groups:
        for position, call in enumerate(group.head.calls):
            accepted = wire.call_id(call.id)
            call_id = accepted
            number = 1
            while call_id in seen:
                number += 1
                call_id = wire.numbered(accepted, number)
            if call_id != call.id:
                renamed[group.head.ordinal, position] = call_id
            seen.add(call_id)
    return renamed
