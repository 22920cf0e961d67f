"""Read back one message of a session's history by its id, a page at a time."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import RecallError
from ..log.contract import Log
from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, metadata_of
from ..search.recall_media import with_media
from ..search.recall_page import CHARS_PER_TOKEN, RecallPage, RecallQuery, cut_page, page_tokens, recall_output


def recall_message(log: Log, wanted: RecallQuery, *, count: Callable[[Message], int], budget_tokens: int) -> RecallPage:
    """Read a page of one message.

    Args:
        log: the session's log.
        wanted: the message and the part of it to read.
        count: counts the tokens of a message.
        budget_tokens: the session's budget; a page is a tenth of it.

    Raises:
        RecallError: there is no such message, or no such page.
        LogUnreadableError: the log cannot be read.
    """
    log.follow()
    position = find_live(log, wanted.reference)
    live = log.index.live
    first = max(0, position - 1)
    neighbours = list(log.read(live[first : position + 2]))  # the message before, the message, and the one after
    at = position - first
    message = neighbours[at]
    before = _id_of(neighbours[at - 1]) if at > 0 else ""
    after = _id_of(neighbours[at + 1]) if at + 1 < len(neighbours) else ""
    most_tokens = page_tokens(budget_tokens)
    page = cut_page(
        message,
        wanted,
        before=before,
        after=after,
        most_chars=CHARS_PER_TOKEN * most_tokens,
        fits=lambda output: count(recall_output(output)) <= most_tokens,
    )
    return with_media(page, message, wanted)


def _id_of(message: Message) -> str:
    return str(metadata_of(message).get("message_id", ""))


def find_live(log: Log, reference: str) -> int:
    """Return the position in the live history of the message with an id.

    Raises:
        RecallError: the live history has no such message that models may see.
    """
    index = log.index
    ordinal = index.find_live(reference, index.live)
    if ordinal is not None and index.is_live(ordinal):
        (message,) = log.read([ordinal])
        if is_kept_from_models(message):
            raise RecallError(f"reference: {reference} is kept for readers of the history and is not shown to a model")
        if metadata_of(message).get("message_id") == reference:
            steps_from_end = index.live[::-1].index(ordinal)  # most wanted messages are near the end
            return len(index.live) - 1 - steps_from_end
    if index.find_all([reference]):
        raise RecallError(f"reference: {reference} is not part of this session any more: its history was replaced")
    raise RecallError(
        f"reference: no message of this session has the id {reference!r:.80}; take one from a view, or search"
    )
