"""Which request an answer belongs to: the one whose response the host told of, else the only one that waits.

A view that was handed out waits for its answer. The host's events name the request of a response (`request_id` on
`llm:request` and `llm:response`, amplifier-core since 2026-09-03). Without them, several requests that wait and were
sent different things (a retry with another view, a side view) leave open whose the answer is: then it is nobody's.

A provider that refuses reasoning although it stands as it was made got something else than the view: the host, or what
is between, adds to requests. From then on none is shown, and answers belong to no request that is known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ..messages.message import Message
from ..messages.metadata import BOUND_KEY, hook_of, is_reference_only, metadata_of
from ..view.readers import bond_of

_MOST_NAMED = 64
_REFUSALS = ("bound to a different conversation", "in `thinking` block", "in `redacted_thinking` block")
"""What Claude's errors say of reasoning (Claude docs, "Fix a thinking block bound to a different conversation")."""


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
        self._named: OrderedDict[str, str] = OrderedDict()
        """By the host's names of requests, what each was sent."""
        self.reasoning_refused = False
        """Whether a provider has refused reasoning in this process."""

    def on_refusal(self, event: Mapping[str, Any], *, certain: bool = False) -> bool:
        """Take in the event of an error; whether it is the first that tells of refused reasoning.

        Args:
            event: `provider:error`, or a response with an error.
            certain: whether the event is about reasoning, whatever its text says.
        """
        session_id, error = event.get("session_id"), event.get("error")
        other = session_id is not None and self._session_id is not None and session_id != self._session_id
        said = " ".join(map(str, error.values())) if isinstance(error, Mapping) else str(error or "")
        if other or self.reasoning_refused or not (certain or any(text in said for text in _REFUSALS)):
            return False
        self.reasoning_refused = True
        return True

    def hand_out(self, bound: str, provider: str = "", model: str = "") -> None:
        """Note that a view is handed out, for whom."""
        if self._answers:
            self._waiting, self._asked, self._answers = [], {}, 0
        self._waiting.append("" if self.reasoning_refused else bound)
        asked = provider, model
        self._asked[bound] = asked if self._asked.get(bound, asked) == asked else ("", "")

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
        metadata = message.get("metadata")
        if is_reference_only(message):
            return message
        if message["role"] != "assistant" or hook_of(metadata_of(message)):
            if self._answers:
                self._waiting = []
            return message
        self._answers += 1
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

    def _maker(self) -> Message:
        asked = zip(("provider", "model"), self._asked.get(self._waiting[0], ()), strict=False)
        return {key: name for key, name in asked if name}

    def _name_of(self, event: Mapping[str, Any]) -> str:
        """The host's name of an event's request; empty where it has none, or is of another session."""
        session_id, name = event.get("session_id"), event.get("request_id")
        other = session_id is not None and self._session_id is not None and session_id != self._session_id
        return name if isinstance(name, str) and not other else ""
