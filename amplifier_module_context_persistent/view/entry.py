"""An entry: what the pure half knows of one message without holding the message.

Only `classify` decides what a message is to the engine: a human's message, an instruction, a pin, a call, a result, or
nothing that a provider accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from ..messages.elide import Cut, elide_message
from ..messages.late_result import LateCall
from ..messages.media_blocks import Medium, media_of
from ..messages.message import Call, Message, as_json, calls_of, result_id_of, texts_of, without_thinking
from ..messages.metadata import (
    MEMORY_FILE_SOURCE,
    as_reminder,
    for_model,
    hook_of,
    is_human,
    line_before,
    metadata_of,
    offload_cut,
    recalled_from,
)
from ..messages.narration import narration_of
from ..messages.normalize import normalise
from ..messages.outcome import outcome_of
from ..messages.terms import NO_TERMS, Terms, terms_of
from ..messages.tool_kinds import ToolKinds, ToolUse
from .ids_and_names import Oddities, oddities_of
from .recipients import Bond, Recipient, bond_of

INSTRUCTING = ("system", "developer")
"""The roles of system text."""

_KNOWN_TOOLS = ToolKinds()
_END_CHARS = 60  # where the question is looked for that ends a text
_QUESTION = re.compile("[?\uff1f\u061f]")  # of Latin, Chinese and Arabic script


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a history, as the engine sees it.

    `ordinal` is its position among the records of the log, or negative for a message that is in no log. `tokens` counts
    it as it is shown where no plan shortens it. `result_of` is the id of the call that it answers.
    """

    ordinal: int
    id: str
    role: str
    tokens: int
    human: bool = False
    pinned: bool = False
    protected: bool = field(default=False, compare=False)
    """Whether the plan that is being made has to leave it as it is, though it is no pin."""
    blank: bool = False
    plain: bool = True
    """Whether it is in a form that every provider accepts."""
    for_readers: bool = False
    """Whether its metadata hold something that is left out, since it is for readers of the history."""
    calls: tuple[Call, ...] = ()
    closed: frozenset[str] = frozenset()
    """The ids of its calls that no later message can answer: a later call that no view shows has the same id."""
    result_of: str | None = None
    told_of: LateCall | None = None
    """A late result that is shown as a message of its own: the call that it answers."""
    outcome: str = ""
    """Of a result, how its call ended (`messages.outcome`)."""
    named: bool = False
    """A result: whether it says the tool's name."""
    source: str | None = None
    late: bool = False
    """System text after the first message of the conversation that is shown as a user's reminder."""
    hook: str = ""
    """The hook that added it, of system text after the first message of the conversation."""
    thinking_tokens: int = 0
    """What of its tokens is thinking."""
    narration_tokens: int = 0
    """Tokens of the text that is shown in place of its thinking, of an answer between tool calls; 0 if none is."""
    offload: Cut | None = None
    """A result that is shown by this cut where no plan says otherwise."""
    refers_to: str = ""
    """A page that `recall` gave: the id of the message that it was taken from."""
    asks: bool = False
    """What the model said: whether it ends with a question."""
    terms: Terms = NO_TERMS
    """What it shows that may be needed again."""
    uses: tuple[ToolUse, ...] = ()
    """What each of its calls does."""
    size_bytes: int = 0
    """About its bytes in a request, without the media that are left out."""
    media: tuple[Medium, ...] = ()
    """Its images and documents."""
    omits: frozenset[int] = frozenset()
    """The numbers of those media that are left out; their tokens are not counted."""
    bond: Bond | None = None
    """Who made what only its maker understands of it; None where there is nothing of that."""
    chain_ends: bool = False
    """Whether a server's copy of the conversation is not named any more: a plan came after it."""

    odd: Oddities | None = None
    """What of it a provider may refuse."""
    line_before: str = ""
    """The `[continued]` line that the answer's request ended with; later views for such a reader repeat it."""

    @property
    def silent_tokens(self) -> int:
        """Its tokens without its thinking."""
        return self.tokens - self.thinking_tokens + self.narration_tokens

    @property
    def instructs(self) -> bool:
        """Whether it is system text."""
        return self.role in INSTRUCTING

    @property
    def stays(self) -> bool:
        """Whether it is system text that `preserve_system` is about: not that of a hook in the conversation."""
        return self.role in INSTRUCTING and not self.hook

    @property
    def as_stored(self) -> bool:
        """Whether it is handed out as it was stored where nothing else changes it."""
        changed = self.for_readers or self.late or self.offload is not None or self.omits or self.chain_ends
        changed = changed or self.told_of is not None
        return self.plain and not changed

    @property
    def shown_media(self) -> Iterator[tuple[int, Medium]]:
        """Its media that are shown, by their numbers."""
        return ((number, medium) for number, medium in enumerate(self.media) if number not in self.omits)


def classify(
    ordinal: int,
    message: Message,
    count: Callable[[Message], int],
    *,
    late: bool = False,
    reminds: bool = False,
    kinds: ToolKinds = _KNOWN_TOOLS,
    size_bytes: int = 0,
    asked: tuple[str, str] | None = None,
    follows_result: bool = False,
) -> Entry:
    """Describe a message.

    Args:
        ordinal: its position among the records, or a negative number.
        message: the message as it was stored.
        count: counts the form in which it would be sent.
        late: whether it stands after the first message of the conversation.
        reminds: whether late system text is shown as a reminder.
        kinds: tells what a tool does.
        size_bytes: the length of the message as JSON.
        asked: the provider and the model that were asked for it; None for a message in no log: nothing of it is bound.
        follows_result: whether it is an answer to a result.
    """
    sent = for_model(message)
    if sent is None:
        return Entry(ordinal, "", role="", tokens=0, blank=True)
    metadata, accepted, role = metadata_of(sent), normalise(sent), sent.get("role")
    message_id, source = metadata.get("message_id"), metadata.get("source")
    reminds = late and reminds and role in INSTRUCTING
    offload = offload_cut(sent) if ordinal >= 0 and message_id else None
    bond = bond_of(sent, asked) if asked is not None else None
    narrates = follows_result and bond is not None and Recipient.of(bond.provider, bond.model).binding.narrates
    narration = narration_of(accepted, str(message_id)) if accepted and narrates and calls_of(accepted) else ""
    tokens, thinking = _sizes(accepted, count, offload, str(message_id), late=reminds) if accepted else (0, 0)
    return Entry(
        ordinal=ordinal,
        id=message_id if ordinal >= 0 and isinstance(message_id, str) else "",
        role=str(role),
        tokens=tokens,
        blank=accepted is None,
        plain=accepted is sent,
        outcome=outcome_of(sent) if role in ("tool", "function") else "",
        source=source if isinstance(source, str) else None,
        late=reminds,
        hook=hook_of(metadata) if late and role in INSTRUCTING else "",
        thinking_tokens=thinking,
        narration_tokens=count({"content": narration}) if narration else 0,
        offload=offload,
        size_bytes=size_bytes if sent is message else len(as_json(sent).encode(errors="replace")),
        bond=bond,
        for_readers=sent is not message,
        **_marks_of(sent),
        **(_content_of(accepted, kinds, count) if accepted is not None else {}),
    )


def _marks_of(sent: Message) -> dict[str, Any]:
    """What a message says of itself beside its content."""
    metadata = metadata_of(sent)
    return {
        "human": is_human(sent),
        "pinned": metadata.get("pinned") is True or metadata.get("critical") is True,
        "result_of": result_id_of(sent),
        "named": bool(sent.get("name")),
        "refers_to": recalled_from(sent),
        "line_before": line_before(sent),
    }


def _content_of(accepted: Message, kinds: ToolKinds, count: Callable[[Message], int]) -> dict[str, Any]:
    """What the content of a message has, in its accepted form."""
    calls = calls_of(accepted)
    return {
        "calls": calls,
        "asks": accepted.get("role") == "assistant" and _asks(accepted),
        "terms": terms_of(accepted),
        "uses": kinds.uses_of(accepted) if calls else (),
        "odd": oddities_of(accepted),
        "media": media_of(accepted, count) if isinstance(accepted.get("content"), list) else (),
    }


def _asks(accepted: Message) -> bool:
    """Whether the end of the text has a question in it."""
    return any(_QUESTION.search(text[-_END_CHARS:]) for text in texts_of(accepted)[-1:])


def _sizes(
    accepted: Message, count: Callable[[Message], int], offload: Cut | None, message_id: str, *, late: bool
) -> tuple[int, int]:
    """The tokens of a message as it is shown where no plan shortens it, and what of them is thinking."""
    shown = as_reminder(accepted) if late else accepted
    tokens = count(shown if offload is None else elide_message(accepted, offload, reference=message_id))
    spoken = without_thinking(accepted)
    return tokens, tokens - count(spoken) if spoken is not accepted else 0


def with_closed(entries: Iterable[Entry], closed: Mapping[str, AbstractSet[str]]) -> list[Entry]:
    """The entries, with those calls closed that `closed` names by message id."""
    return [replace(entry, closed=frozenset(closed[entry.id])) if entry.id in closed else entry for entry in entries]


def without_some_media(
    entries: Iterable[Entry], left_out: Mapping[str, AbstractSet[int]], count: Callable[[Message], int]
) -> list[Entry]:
    """The entries, with those media left out whose numbers `left_out` gives by message id."""
    return [lighter(entry, left_out[entry.id], count) if entry.id in left_out else entry for entry in entries]


def lighter(entry: Entry, numbers: AbstractSet[int], count: Callable[[Message], int]) -> Entry:
    """An entry without some of its media; a line stands for each."""
    going = [(number, medium) for number, medium in entry.shown_media if number in numbers]
    lines = [medium.line(entry.id, number, len(entry.media)) for number, medium in going]
    empty = count({"content": ""})
    return replace(
        entry,
        omits=entry.omits | {number for number, _ in going},
        tokens=max(0, entry.tokens - sum(m.tokens for _, m in going))
        + sum(count({"content": t}) - empty for t in lines),
        size_bytes=max(0, entry.size_bytes - sum(m.chars for _, m in going)) + sum(len(line) + 40 for line in lines),
    )


def end_chains(entries: Iterable[Entry]) -> list[Entry]:
    """The entries as a view shows them that comes after a plan: none names a server's copy of what was before it."""
    return [
        replace(entry, chain_ends=True) if entry.bond and entry.bond.chained and not entry.chain_ends else entry
        for entry in entries
    ]


def media_left_out(entries: Iterable[Entry]) -> dict[str, frozenset[int]]:
    """By message id, the numbers of the media that entries leave out."""
    return {entry.id: entry.omits for entry in entries if entry.omits and entry.id}


def gives_way(role: str, source: Any) -> bool:
    """Whether a stored message is left out where a factory gives the system text."""
    return role == "system" and source not in ("hook", MEMORY_FILE_SOURCE)
