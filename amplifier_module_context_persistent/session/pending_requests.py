"""Which request an answer belongs to: the one whose response the host told of, else the only one that waits.

The host's events name the request of a response (`request_id` on `llm:request` and `llm:response`, amplifier-core since
2026-09-03). Without them, several requests that wait and were sent different things (a retry with another view, a side
view) leave open whose the answer is: then it is nobody's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ..messages.message import Message
from ..messages.metadata import BOUND_KEY, is_answer, is_human, is_kept_from_models
from ..tokens.calibration import of_session
from ..view.recipients import bond_of

_MOST_NAMED = 64


class PendingRequests:
    """The requests of one session that wait for their answers, each by the hash of what it was sent.

    Args:
        session_id: events that name another session are ignored.
        names_makers: whether answers are told who was asked, too: where no receipts do.
    """

    def __init__(self, session_id: str | None, *, names_makers: bool = False) -> None:
        self._session_id, self._names_makers = session_id, names_makers
        self._waiting: list[str] = []
        self._asked: dict[str, tuple[str, str]] = {}
        """By what they were sent, the provider and the model of the requests that wait."""
        self._answers = 0
        """So many messages the answer has so far."""
        self._names_provider = False
        """Whether the requests that wait name their provider."""
        self._is_given_up = False
        """Whether a person has spoken since: if another request follows, those that wait get no answer."""
        self._named: OrderedDict[str, str] = OrderedDict()
        """By the host's names of requests, what each was sent."""

    def hand_out(self, bound: str, provider: str = "", model: str = "") -> None:
        """Note that a view is handed out, for whom; `bound` is "" if no reasoning of its answer is to be shown.

        A request that names its provider replaces views that were only looked at. It is itself replaced if a person
        speaks before its answer and another request follows: the turn was interrupted.
        """
        was_looked_at = bool(provider) and not self._names_provider
        if self._answers or self._is_given_up or was_looked_at:
            self._waiting, self._asked, self._answers = [], {}, 0
        self._is_given_up, self._names_provider = False, bool(provider)
        self._waiting.append(bound)
        asked = provider, model
        self._asked[bound] = asked if self._asked.get(bound, asked) == asked else ("", "")

    def is_look(self, provider: str) -> bool:
        """Whether a view goes to no model: it names no provider while a request that names one waits."""
        waits = bool(self._waiting) and not self._answers and not self._is_given_up
        return not provider and self._names_provider and waits

    def bind_to_nothing(self) -> None:
        """Let the answer to the last view belong to no request: something was added to what it was sent."""
        if self._waiting and not self._answers:
            self._waiting[-1] = ""

    def on_request(self, event: Mapping[str, Any]) -> None:
        """Note the name of a request: it carries the view that was handed out last."""
        if (name := self._name_of(event)) and self._waiting and not self._answers:
            self._named[name] = self._waiting[-1]
            while len(self._named) > _MOST_NAMED:
                self._named.popitem(last=False)

    def on_response(self, event: Mapping[str, Any]) -> None:
        """Note that the answer to come is that of a request."""
        bound = self._named.pop(self._name_of(event), "")
        if bound in self._waiting:
            self._waiting = [bound]

    def note(self, message: Message) -> Message:
        """A message that is added; an answer with reasoning gets the hash of what its request was sent.

        Where a response becomes several messages, the later ones say also how many stand before them.
        """
        if not is_answer(message):
            if (self._waiting or self._is_given_up) and not is_kept_from_models(message):
                self._note_other(message)
            return message
        self._answers += 1
        if not self._waiting:
            return message
        metadata = message.get("metadata")
        if (
            len({*self._waiting}) != 1
            or not self._waiting[0]
            or not isinstance(metadata, dict | None)
            or BOUND_KEY in (metadata or {})
        ):
            return message
        bond = bond_of(message, ("", ""))
        if bond is None or not bond.reasoning:
            return message
        bound = self._waiting[0] if self._answers == 1 else f"{self._waiting[0]}+{self._answers - 1}"
        made_by = self._maker() if self._names_makers else {}
        return {**message, "metadata": {**made_by, **(metadata or {}), BOUND_KEY: bound}}

    def _note_other(self, message: Message) -> None:
        """Note that what is no answer comes after requests."""
        if self._answers:
            self._waiting = []
        elif is_human(message):
            self._is_given_up = bool(self._waiting)

    def take_back(self, message: Message) -> None:
        """Take back what `note` noted of a message that was not stored; it may be added again."""
        self._answers -= is_answer(message) and self._answers > 0

    def _maker(self) -> Message:
        asked = zip(("provider", "model"), self._asked.get(self._waiting[0], ()), strict=False)
        return {key: name for key, name in asked if name}

    def _name_of(self, event: Mapping[str, Any]) -> str:
        """The host's name of an event's request; empty where it has none, or is of another session."""
        name = event.get("request_id")
        return name if isinstance(name, str) and of_session(event, self._session_id) else ""
