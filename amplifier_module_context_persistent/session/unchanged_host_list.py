"""A list that a host passes back unchanged: its messages equal those of the history in every value.

This quick comparison comes first. `new_in_host_list` compares other lists by content, ids and times.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.message import Message
from .growing_list import SYSTEM_ROLES


def known_beginning(live: Sequence[Message], host_list: Sequence[object]) -> list[int]:
    """Find the messages at the beginning of a host's list that equal messages of the history in every value.

    If a host passes back the history unchanged, this comparison is enough, and takes little more time than reading.

    Args:
        live: the history; the list may lack its system messages.
        host_list: the host's list, not copied yet.

    Returns:
        The positions of the found messages in the history.
    """
    known: list[int] = []
    place = 0
    for message in host_list:
        while place < len(live) and live[place]["role"] in SYSTEM_ROLES and not _is_equal(live[place], message):
            place += 1
        if place == len(live) or not _is_equal(live[place], message):
            break
        known.append(place)
        place += 1
    return known


def is_whole(live: Sequence[Message], host_list: Sequence[object], known: Sequence[int]) -> bool:
    """Return whether a list is exactly the history, except that system messages may be missing.

    Args:
        live: the history.
        host_list: the list.
        known: the result of `known_beginning`.
    """
    if len(known) != len(host_list):
        return False
    after_last_known = known[-1] + 1 if known else 0
    return all(message["role"] in SYSTEM_ROLES for message in live[after_last_known:])


def _is_equal(stored: Message, listed_value: object) -> bool:
    try:
        return stored == listed_value
    except (TypeError, ValueError):  # some libraries have values that cannot be compared; they are refused later
        return False
