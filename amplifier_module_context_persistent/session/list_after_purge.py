"""A list that is set in a session whose log was purged: what was purged does not come back with the list.

An agent that keeps its own list sets it again after a purge, with the messages and texts that the purge removed. Two
things tell which they are:
- The agent's list usually grows. If it begins with the list that was set before (`OwnList`), the history as the purge
  left it takes the place of that beginning. What follows is new, and stays as the agent gives it.
- Any other list is read as an import is, by the erasures that the log's purges carried out: purged texts are replaced
  again, and messages that were purged, which are known by their ids, are left out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..erasures.purges_of_log import salts_of_purges
from ..log.contract import Log
from ..log.index import id_hash_of
from ..messages.host_form import content_key
from ..messages.message import Message
from ..messages.metadata import given_id
from ..messages.replace_in_message import redact_message
from .own_list import OwnList

if TYPE_CHECKING:
    from ..erasures.erasure_record import Erasure

logger = logging.getLogger(__name__)


def without_purged(
    log: Log, host_list: Sequence[Message], location: str, *, own: OwnList | None = None, last_reset: str = ""
) -> list[Message]:
    """Return a list without the messages and texts that were purged from the log. This reads a purged log whole.

    Args:
        log: the session's log, as far as it was read.
        host_list: the list, as it would be stored.
        location: the log's file, or its location in a database.
        own: the list that was set before; None if a host of Amplifier sets its list.
        last_reset: as for `OwnList.known_part`.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    if not log.index.control_counts["purge"]:
        return list(host_list)
    known = own.known_part(log, host_list, last_reset) if own is not None else 0
    if own is not None and known:
        return [*own.history(log), *host_list[known:]]
    live = {content_key(message) for message in log.read(log.index.live)}
    about = _erasures_of(log, location)
    remaining = list[Message]()
    for message in host_list:
        if content_key(message) in live:
            remaining.append(message)
        elif not _was_purged(message, about):
            remaining.append(_with_texts_replaced(message, about))
    return remaining


def _erasures_of(log: Log, location: str) -> list[Erasure]:
    """Return the erasures that the log's purges carried out; none, with a warning, if the lists cannot be read."""
    from ..erasures.erasure_list import erasures  # it loads the forms of all services, and few logs were purged

    salts = salts_of_purges(log)
    try:
        return [erasure for erasure in erasures(location) if erasure.salt in salts]
    except OSError as error:
        logger.warning(
            "set_messages: what was purged here may come back, since the list of it is unreadable: %s", error
        )
        return []


def _was_purged(message: Message, about: Sequence[Erasure]) -> bool:
    """Return whether a message has the id of one that was purged."""
    message_id = given_id(message)
    return message_id is not None and any(erasure.took(id_hash_of(message_id)) for erasure in about)


def _with_texts_replaced(message: Message, about: Sequence[Erasure]) -> Message:
    """Return a message in which the purged texts are replaced."""
    from ..erasures.erasure_record import TEXT

    for erasure in about:
        if erasure.what == TEXT:
            message = redact_message(message, erasure.rule.replacement)
    return message
