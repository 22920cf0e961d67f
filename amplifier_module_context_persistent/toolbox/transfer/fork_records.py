"""The records of a fork's log: a header that names the origin, the copied messages, and what belongs to them.

What belongs to them: which model each answer is bound to, the reported usage, what refusals taught, the turns that are
hidden, and the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from ...checkout_remote import REMOTE
from ...log.record_line import FORMAT_VERSION, Message, encode_control, encode_object
from ...messages.metadata import given_id
from ...sessions.transcript import Transcript, log_id_in
from ...view.rules_of_log import header_marks
from .copy_log import carry
from .history_at import HistoryPrefix


@dataclass(frozen=True, slots=True)
class ForkRecords:
    """The records of a fork: its header, and the messages, plan and marks that it takes over from its origin."""

    transcript: Transcript
    """The origin, or a copy of it without what was purged."""
    past: HistoryPrefix
    """The part of its history that is copied."""
    plan: Message | None
    """The plan that was in force there, or None."""
    session_id: str | None
    """The id of the new session."""
    parent_id: str | None
    """The id of the origin's session, or None if it has none."""
    created: str
    """The time of the fork, ISO 8601."""
    new_id: Callable[[], str]
    """Gives unique ids."""
    refused: dict[int, str] = field(default_factory=dict)
    """The reasons why messages cannot be copied, by ordinal; complete once all bodies were read."""

    def bodies(self) -> Iterator[bytes]:
        """Yield the bodies of the records, in order."""
        yield self._header()
        index = self.transcript.reader.index
        ordinals = self.past.ordinals
        for copied in carry(self.transcript.reader, ordinals, rename=lambda _: self.new_id(), refused=self.refused):
            provider, model = index.model_of(copied.ordinal)
            if provider:  # its receipt is not copied
                yield encode_control("asked", provider=provider, model=model)
            yield copied.body
        yield from map(encode_object, index.session.usage.values())
        for what, provider, model in sorted(index.session.learned):
            yield encode_control("learned", what=what, provider=provider, model=model)
        yield from self._hidden_turns()
        if self.plan is not None:
            yield encode_object(self.plan)

    def _hidden_turns(self) -> Iterator[bytes]:
        """Yield a record for each turn that the origin's views hide, so that the fork's views hide the turn too."""
        reader = self.transcript.reader
        for is_hidden, run in groupby(self.past.ordinals, reader.index.session.hidden.__contains__):
            if is_hidden:
                members = list(run)
                turn = [given_id(message) or "" for message in reader.read([members[0], members[-1]])]
                yield encode_control("hide", id=self.new_id(), turn=turn, hidden=True)

    def _header(self) -> bytes:
        known = self.transcript.header
        marks = header_marks([known] if known else [])
        remote = {REMOTE: known[REMOTE]} if known.get(REMOTE) else {}
        return encode_control(
            "header",
            version=FORMAT_VERSION,
            log_id=self.new_id(),
            session_id=self.session_id,
            tokenizer=known.get("tokenizer", "estimate"),
            created=self.created,
            **marks,
            **remote,
            parent_id=self.parent_id,
            parent_log_id=log_id_in(self.transcript.reader.index.headers) or None,
            forked_from=self.past.message_id,
            forked_from_turn=self.past.turn,
        )
