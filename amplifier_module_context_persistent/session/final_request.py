"""Compare the request that a host sent with its view, and record the difference in the log.

amplifier-module-loop-streaming (its test of this handoff, read 2026-11-26) looks for two capabilities, and
uses either both capabilities or none:

- `context.final_request_record` gets the request in its final form, after every hook, and returns a ticket;
- `context.signed_replay` gets the ticket back once the answer to that request was stored.

The record (`sent`) names the view by its receipt. A text that is added to many requests is written once in a process.
If a host adds to a request, the answer's reasoning is bound to text that the next request may lack. So the answer is
bound to no request, for readers that check prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from ..log.record_line import encode_control
from ..messages.check_incoming import json_copy
from ..messages.message import Message
from ..view.receipts import canonical, text_hash

_DIGEST_BYTES = 16
_BESIDE_CONTENT = {"metadata"}


@dataclass(frozen=True, slots=True)
class Ticket:
    """Identifies a sent request. Hosts pass it back unchanged."""

    number: int


class Addition(NamedTuple):
    """A message or text that a request contains and its view does not."""

    at: int
    """The position of the message in the request."""
    how: str
    """`message`: a new message; `text`: text at the end of a message of the view; `changed`: a changed message."""
    message: Message
    """The message; for `text`, a message with only the added text."""


@dataclass(frozen=True, slots=True)
class HandedOut:
    """The last view that a request got, and the id of its receipt."""

    view: Sequence[Message]
    receipt_id: str
    checks_prefix: bool


class FinalRequests:
    """The requests of one session in the form in which the host sent them."""

    def __init__(self) -> None:
        self.handed_out: HandedOut | None = None
        self._records: dict[int, bytes] = {}
        self._written: set[str] = set()
        """Hashes of the additions that the log already has."""
        self._of: object = None
        self._number = 0

    def record(self, request: Any, count: Callable[[Message], int], of: object = None) -> tuple[Ticket, bool]:
        """Compare a request with the last view.

        Args:
            request: amplifier-core's `ChatRequest`, or a mapping with `messages`.
            count: counts the tokens of a message.
            of: the history; if it was replaced (by a purge, for example), additions are written again.

        Returns:
            Its ticket, and whether something was added or changed.

        Raises:
            RecordError: an item of the request is not a message.
        """
        self._number += 1
        ticket = Ticket(self._number)
        if of is not self._of:
            self._written = set()
            self._of = of
        handed = self.handed_out
        if handed is None or not handed.receipt_id:
            return ticket, False
        sent = [_plain(message) for message in _messages_of(request)]
        view = [_plain(message) for message in handed.view]
        added = list(additions(view, sent))
        new_messages = [addition for addition in added if addition.how == "message"]
        left_out = max(0, len(view) + len(new_messages) - len(sent))
        fields = {
            "view": handed.receipt_id,
            "hash": _hash_of(sent),
            "messages": len(sent),
            "tokens": sum(count(addition.message) for addition in added),
            "left_out": left_out,
            "added": [self._described(addition) for addition in added],
        }
        written = {key: value for key, value in fields.items() if value}
        self._records = {ticket.number: encode_control("sent", **written)}
        return ticket, bool(added or left_out)

    def take(self, ticket: Any) -> bytes | None:
        """Remove and return the record of a request whose answer was stored; None if the ticket is unknown."""
        if not isinstance(ticket, Ticket):
            return None
        return self._records.pop(ticket.number, None)

    def forget(self) -> None:
        """Forget the last view and all records."""
        self.handed_out = None
        self._records = {}

    def _described(self, addition: Addition) -> Message:
        digest = text_hash(addition.message)
        described = {"at": addition.at, "how": addition.how, "hash": digest}
        if digest not in self._written:
            self._written.add(digest)
            described["message"] = addition.message
        return described


def _messages_of(request: Any) -> list[Any]:
    is_mapping = isinstance(request, Mapping)
    messages = request.get("messages") if is_mapping else getattr(request, "messages", None)
    return list(messages) if isinstance(messages, Sequence) else []


def _hash_of(messages: Sequence[Message]) -> str:
    encoded = b"".join(canonical(message) for message in messages)
    return blake2b(encoded, digest_size=_DIGEST_BYTES).hexdigest()


def _plain(message: Any) -> Message:
    """Return a message as plain JSON without metadata and empty keys, since hosts rebuild messages as objects."""
    if hasattr(message, "model_dump"):
        message = message.model_dump(exclude_none=True, exclude=_BESIDE_CONTENT)
    elif not isinstance(message, Mapping):
        message = json_copy(message)
    content = {key: value for key, value in message.items() if key not in _BESIDE_CONTENT}
    return {key: _without_none(value) for key, value in content.items() if value is not None}


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_none(inner) for inner in value]
    return value


def additions(view: Sequence[Message], sent: Sequence[Message]) -> Iterator[Addition]:
    """Yield the additions of a request to its view, in order."""
    same = 0  # the number of messages at the start in which they are alike
    while same < min(len(view), len(sent)) and view[same] == sent[same]:
        same += 1
    view = view[same:]
    view_encoded = [canonical(message) for message in view]
    sent_encoded = [b""] * same + [canonical(message) for message in sent[same:]]
    all_sent = set(sent_encoded)
    place = 0  # in the view
    for position in range(same, len(sent)):
        message = sent[position]
        encoded = sent_encoded[position]
        if place == len(view):
            yield Addition(position, "message", message)
            continue
        if encoded == view_encoded[place]:
            place += 1
            continue
        is_sent = view_encoded[place] in all_sent
        if not is_sent and encoded in view_encoded[place:]:
            place = view_encoded.index(encoded, place) + 1  # messages of the view before it were left out
            continue
        before = view[place]
        added_content = _more_in(before, message)
        if added_content is not None:
            place += 1
            yield Addition(position, "text", {**message, "content": added_content})
        elif not is_sent and before.get("role") == message.get("role"):
            place += 1
            yield Addition(position, "changed", message)
        else:
            yield Addition(position, "message", message)


def _more_in(before: Message, after: Message) -> Any:
    """Return what a host added at the end of a message's content, or None if anything else differs."""
    if {**before, "content": None} != {**after, "content": None}:
        return None
    old = before.get("content")
    new = after.get("content")
    if isinstance(old, str) and isinstance(new, str) and old and new.startswith(old):
        return new[len(old) :]
    if isinstance(old, list) and isinstance(new, list) and old and new[: len(old)] == old:
        return new[len(old) :]
    return None
