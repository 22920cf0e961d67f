"""Find the request that an answer belongs to, for the hash that is stored with the answer's reasoning.

A request *waits* from the moment its view is made until its answer is added. The host's events name the request of a
response (`request_id` on `llm:request` and `llm:response`, amplifier-core since 2026-09-03). Without such events, the
answer belongs to the only waiting request. If several requests with different contents wait (a retry with another view,
a side view), the answer's request is unknown, and the answer is bound to none.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message
from ..messages.metadata import BOUND_KEY, is_answer, is_human
from ..tokens.meter import of_session
from ..view.recipients import bond_of

_MOST_NAMED = 64


class PendingRequests:
    """The requests of one session that wait for their answers, each named by the hash of its content.

    Args:
        session_id: events that name another session are ignored.
        names_makers: whether an answer also gets the provider and the model of its request. Set it if receipts are off,
            because a receipt names both.
    """

    def __init__(self, session_id: str | None, *, names_makers: bool = False) -> None:
        self._session_id = session_id
        self._names_makers = names_makers
        self._waiting: list[str] = []
        self._asked: dict[str, tuple[str, str]] = {}
        """The provider and the model of each waiting request, by its hash."""
        self._answers = 0
        """The number of messages of the current answer so far."""
        self._names_provider = False
        """Whether the waiting requests name their provider."""
        self._is_given_up = False
        """Whether a person's message was added since the waiting requests. If a request follows, they get no answer."""
        self._named: OrderedDict[str, str] = OrderedDict()
        """The hash of each request, by the host's request id."""

    def hand_out(self, bound: str, provider: str = "", model: str = "") -> None:
        """Remember a view that was made, and its reader.

        A request that names its provider replaces views that were not sent to a model. If a person's message and
        another request come before the answer to a view, the turn was interrupted, and the new request replaces the
        view.

        Args:
            bound: the hash of the request, to which the answer's reasoning is bound; "" if it must be bound to none.
            provider: the provider's name; "" if the request names none.
            model: the model's name; "" if it is unknown.
        """
        was_only_looked_at = bool(provider) and not self._names_provider
        if self._answers or self._is_given_up or was_only_looked_at:
            self._waiting = []
            self._asked = {}
            self._answers = 0
        self._is_given_up = False
        self._names_provider = bool(provider)
        self._waiting.append(bound)
        recipient = provider, model
        is_other_recipient = self._asked.get(bound, recipient) != recipient
        self._asked[bound] = ("", "") if is_other_recipient else recipient

    def is_look(self, provider: str) -> bool:
        """Return whether a view is only looked at, not sent to a model.

        So it is if the caller names no provider, and a request that names one waits for its answer.
        """
        waits = bool(self._waiting) and not self._answers and not self._is_given_up
        return not provider and self._names_provider and waits

    def bind_to_nothing(self) -> None:
        """Bind the answer to the last view to no request, because something was added to the request."""
        if self._waiting and not self._answers:
            self._waiting[-1] = ""

    def on_request(self, event: Mapping[str, Any]) -> None:
        """Note the host's id of the request that the last view was made for."""
        if (name := self._name_of(event)) and self._waiting and not self._answers:
            self._named[name] = self._waiting[-1]
            while len(self._named) > _MOST_NAMED:
                self._named.popitem(last=False)

    def on_response(self, event: Mapping[str, Any]) -> None:
        """Assign the next answer to the request that the event names."""
        bound = self._named.pop(self._name_of(event), "")
        if bound in self._waiting:
            self._waiting = [bound]

    def note(self, message: Message) -> Message:
        """Note a message that is being added.

        Return the message; an answer with reasoning gets the hash of its request. If a response becomes several
        messages, the later ones also get the number of messages before them.
        """
        if not is_answer(message):
            if (self._waiting or self._is_given_up) and not is_kept_from_models(message):
                self._note_other(message)
            return message
        self._answers += 1
        if not self._waiting:
            return message
        bound = self._waiting[0]
        is_unknown = any(other != bound for other in self._waiting)
        if is_unknown or not bound:
            return message
        metadata = message.get("metadata")
        if metadata is None:
            metadata = {}
        if not isinstance(metadata, dict) or BOUND_KEY in metadata:
            return message
        bond = bond_of(message, ("", ""))
        if bond is None or not bond.reasoning:
            return message
        if self._answers > 1:
            bound = f"{bound}+{self._answers - 1}"
        made_by = self._maker() if self._names_makers else {}
        return {**message, "metadata": {**made_by, **metadata, BOUND_KEY: bound}}

    def _note_other(self, message: Message) -> None:
        """Note a message after requests that is not an answer."""
        if self._answers:
            self._waiting = []
        elif is_human(message):
            self._is_given_up = bool(self._waiting)

    def take_back(self, message: Message) -> None:
        """Undo `note` for a message that was not stored. The message may be added again."""
        if is_answer(message) and self._answers:
            self._answers -= 1

    def _maker(self) -> Message:
        """Return the provider and the model of the oldest waiting request, if they are known."""
        provider, model = self._asked.get(self._waiting[0], ("", ""))
        maker: Message = {}
        if provider:
            maker["provider"] = provider
        if model:
            maker["model"] = model
        return maker

    def _name_of(self, event: Mapping[str, Any]) -> str:
        """Return the request id in a host's event, or "" if the event has none or belongs to another session."""
        name = event.get("request_id")
        if isinstance(name, str) and of_session(event, self._session_id):
            return name
        return ""
