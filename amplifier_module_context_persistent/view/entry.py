"""An entry: a description of one stored message, with which views and plans work without reading the message.

Only `classify` decides how the engine treats a message: as a human's message, an instruction, a pin, a call, a result,
or a blank message, of which providers accept no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..messages.elide import Cut, elide_message
from ..messages.kept_from_models import for_model
from ..messages.late_output_text import LateCall
from ..messages.media_blocks import Medium, media_of
from ..messages.message import Call, Message, as_json, calls_of, metadata_of, result_id_of, without_thinking
from ..messages.metadata import MEMORY_FILE_SOURCE, hook_of, is_human, line_before, offload_cut, recalled_from
from ..messages.narration import narration_of
from ..messages.normalize import normalise
from ..messages.outcome import outcome_of
from ..messages.paths_and_ids import NO_TERMS, Terms, terms_of
from ..messages.system_reminder import as_reminder
from ..messages.tool_kinds import ToolKinds, ToolUse
from .recipients import Bond, Recipient, bond_of
from .wire_rules import Oddities, oddities_of

INSTRUCTING = ("system", "developer")
"""The roles of system text."""

_KNOWN_TOOLS = ToolKinds()
_LINE_BYTES = 40  # about, of a line in JSON beside its text


@dataclass(frozen=True, slots=True)
class Gist:
    """The parts of a message's content that a plan weighs."""

    terms: Terms = NO_TERMS
    """Terms in the message that may be needed again."""
    uses: tuple[ToolUse, ...] = ()
    """The uses of tools by the message's calls, one for each call."""
    outcome: str = ""
    """The outcome of the call that a result answers (`messages.outcome`); "" for other messages."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a message, from its metadata."""

    source: str | None = None
    hook: str = ""
    """The hook that added a system message to the conversation; "" for other messages."""
    late: bool = False
    """Whether the message is system text within the conversation that is shown as a user's reminder."""
    refers_to: str = ""
    """The id of the message that a page of `recall` is from; "" for other messages."""
    line_before: str = ""
    """The `[continued]` line at the end of the request that the answer answers, or "". Later views for a reader who
    needs such lines repeat the line."""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The form of a stored message in a request before any plan changes it."""

    blank: bool = False
    """Whether no part of the message can be sent. Such a message is left out, because providers refuse empty messages.
    """
    plain: bool = True
    """Whether the message is in a form that every provider accepts."""
    for_readers: bool = False
    """Whether the metadata have keys for readers of the history, which requests leave out."""
    named: bool = False
    """Whether a result names its tool."""
    offload: Cut | None = None
    """The cut by which a large result is shown if no plan has another cut; None for other messages."""
    odd: Oddities | None = None
    """Parts that a provider may refuse; None if there are none."""
    media: tuple[Medium, ...] = ()
    """The images and documents of the message."""
    size_bytes: int = 0
    """Approximate bytes in a request, without media that are left out."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The reasoning of an answer."""

    bond: Bond | None = None
    """The maker of the parts that no other model can read, or None if there are no such parts."""
    tokens: int = 0
    """Tokens of the message that are thinking."""
    narration_tokens: int = 0
    """The tokens of the text that is shown in place of its thinking; 0 if none is shown."""


NO_REASONING = Reasoning()
"""The reasoning of a message without any; all such messages share this object."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes that plans and windows make to how a message is shown, apart from cuts."""

    protected: bool = field(default=False, compare=False)
    """Whether the plan being made must keep the message unchanged, although it is not pinned."""
    closed: frozenset[str] = frozenset()
    """The ids of the message's closed calls: a later result answers another call with the same id."""
    told_of: LateCall | None = None
    """The call of a late result that the view shows as a separate message; None for any other message."""
    omits: frozenset[int] = frozenset()
    """The numbers of the media that are left out. Their tokens are not counted."""
    no_recall: bool = False
    """Whether the lines shown for left-out media name no way to recall the media, because there is no tool `recall`."""
    chain_ends: bool = False
    """Whether the id of a server's copy of the conversation is left out, because a plan came after it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The description of one message of a history: facts about the message, and how it is shown (`changes`).

    `ordinal` is the position among the records of the log, or negative for a message that is in no log. `tokens` counts
    the form in a view before any plan shortens it. `result_of` is the id of the call that the message answers.
    """

    ordinal: int
    id: str
    role: str
    tokens: int
    human: bool = False
    pinned: bool = False
    calls: tuple[Call, ...] = ()
    result_of: str | None = None
    gist: Gist = Gist()
    origin: Origin = Origin()
    form: RequestForm = RequestForm()
    reasoning: Reasoning = NO_REASONING
    changes: Changes = Changes()

    @property
    def silent_tokens(self) -> int:
        """Tokens of the message without its thinking."""
        return self.tokens - self.reasoning.tokens + self.reasoning.narration_tokens

    @property
    def instructs(self) -> bool:
        """Whether the message is system text."""
        return self.role in INSTRUCTING

    @property
    def stays(self) -> bool:
        """Whether `preserve_system` keeps the message.

        It keeps all system text, except text of hooks in the conversation.
        """
        return self.role in INSTRUCTING and not self.origin.hook

    @property
    def as_stored(self) -> bool:
        """Whether the message can be shown unchanged: neither its form nor the entry's `changes` alter it."""
        form = self.form
        changes = self.changes
        is_made_over = not form.plain or form.for_readers or self.origin.late or form.offload is not None
        return not (is_made_over or changes.omits or changes.chain_ends or changes.told_of is not None)

    @property
    def shown_media(self) -> Iterator[tuple[int, Medium]]:
        """The media of the message that are shown, each with its number."""
        return ((number, medium) for number, medium in enumerate(self.form.media) if number not in self.changes.omits)

    @property
    def media_reference(self) -> str:
        """The id to recall left-out media by, or "" if the lines shown in their place name no id."""
        return "" if self.changes.no_recall else self.id


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
        ordinal: the message's position among the records, or a negative number for a message in no log.
        message: the message as it was stored.
        count: counts the tokens of a message in its sent form.
        late: whether the message comes after the first message of the conversation.
        reminds: whether late system text is shown as a reminder.
        kinds: classifies tools.
        size_bytes: the length of the message as JSON.
        asked: the provider and the model of an answer's request; None for a message in no log, which has no bond.
        follows_result: whether the message is an answer right after a result.
    """
    sent = for_model(message)
    if sent is None:
        return Entry(ordinal, "", role="", tokens=0, form=RequestForm(blank=True))
    metadata = metadata_of(sent)
    message_id = metadata.get("message_id")
    is_stored = ordinal >= 0 and bool(message_id)
    role = str(sent.get("role"))
    accepted = normalise(sent)
    is_reminder = late and reminds and role in INSTRUCTING
    offload = offload_cut(sent) if is_stored else None
    tokens = thinking_tokens = 0
    calls: tuple[Call, ...] = ()
    if accepted is not None:
        tokens, thinking_tokens = _sizes(accepted, count, offload, str(message_id), is_reminder=is_reminder)
        calls = calls_of(accepted)
    outcome = outcome_of(sent) if role in ("tool", "function") else ""
    bond = bond_of(sent, asked) if asked is not None else None
    narration_tokens = 0
    if accepted is not None and calls and follows_result and _is_narrated(bond):
        narration = narration_of(accepted, str(message_id))
        narration_tokens = count({"content": narration}) if narration else 0
    return Entry(
        ordinal=ordinal,
        id=_stored_id(message_id, ordinal),
        role=role,
        tokens=tokens,
        human=is_human(sent),
        pinned=metadata.get("pinned") is True or metadata.get("critical") is True,
        calls=calls,
        result_of=result_id_of(sent),
        gist=_gist_of(accepted, kinds, outcome),
        origin=_origin_of(sent, after_first=late, is_reminder=is_reminder),
        form=_form_of(message, sent, accepted, count, offload=offload, size_bytes=size_bytes),
        reasoning=_reasoning_of(bond, thinking_tokens, narration_tokens),
    )


def _reasoning_of(bond: Bond | None, thinking_tokens: int, narration_tokens: int) -> Reasoning:
    """Return the reasoning of a message. Messages without reasoning share one object."""
    if bond is None and not thinking_tokens:
        return NO_REASONING
    return Reasoning(bond, thinking_tokens, narration_tokens)


def _is_narrated(bond: Bond | None) -> bool:
    """Return whether the model of an answer may get its own thinking between tool calls as plain text."""
    return bond is not None and Recipient.of(bond.provider, bond.model).binding.narrates


def _form_of(
    message: Message,
    sent: Message,
    accepted: Message | None,
    count: Callable[[Message], int],
    *,
    offload: Cut | None,
    size_bytes: int,
) -> RequestForm:
    """Describe how a stored message is sent in a request before any plan changes it.

    Args:
        message: the stored message.
        sent: the message without metadata that requests leave out. If nothing is left out, this is `message` itself.
        accepted: the part of `sent` that every provider accepts. If providers accept all, this is `sent` itself; None
            if they accept nothing.
        count: counts the tokens of a message.
        offload: the cut that shortens a large result.
        size_bytes: the size of the stored message. It is counted anew if `sent` differs.
    """
    for_readers = sent is not message
    if for_readers:
        size_bytes = len(as_json(sent).encode(errors="replace"))
    odd: Oddities | None = None
    media: tuple[Medium, ...] = ()
    if accepted is not None:
        odd = oddities_of(accepted)
        if isinstance(accepted.get("content"), list):
            media = media_of(accepted, count)
    return RequestForm(
        blank=accepted is None,
        plain=accepted is sent,
        for_readers=for_readers,
        named=bool(sent.get("name")),
        offload=offload,
        odd=odd,
        media=media,
        size_bytes=size_bytes,
    )


def _gist_of(accepted: Message | None, kinds: ToolKinds, outcome: str) -> Gist:
    """Return the gist of a message, taken from the form that providers accept."""
    if accepted is None:
        return Gist(outcome=outcome)
    return Gist(terms_of(accepted), kinds.uses_of(accepted), outcome)


def _origin_of(sent: Message, *, after_first: bool, is_reminder: bool) -> Origin:
    """Return the origin of a message.

    Args:
        sent: the message as models may see it.
        after_first: whether it comes after the first message of the conversation.
        is_reminder: whether it is system text that views show as a reminder.
    """
    metadata = metadata_of(sent)
    source = metadata.get("source")
    if not isinstance(source, str):
        source = None
    hook = ""
    if after_first and sent.get("role") in INSTRUCTING:
        hook = hook_of(metadata)
    return Origin(
        source=source,
        hook=hook,
        late=is_reminder,
        refers_to=recalled_from(sent),
        line_before=line_before(sent),
    )


def _stored_id(message_id: object, ordinal: int) -> str:
    """Return the id of a message of a log; "" for a message in no log (`ordinal` below 0), or without an id."""
    if ordinal >= 0 and isinstance(message_id, str):
        return message_id
    return ""


def _sizes(
    accepted: Message, count: Callable[[Message], int], offload: Cut | None, message_id: str, *, is_reminder: bool
) -> tuple[int, int]:
    """Return two counts of a message before any plan shortens it: all its tokens, and those of its thinking."""
    if offload is not None:
        sent = elide_message(accepted, offload, reference=message_id)
    elif is_reminder:
        sent = as_reminder(accepted)
    else:
        sent = accepted
    tokens = count(sent)
    without = without_thinking(accepted)
    if without is accepted:  # the message has no thinking
        return tokens, 0
    return tokens, tokens - count(without)


def with_changes(entry: Entry, **changes: Any) -> Entry:
    """Return a copy of an entry in which the named fields of `entry.changes` have new values."""
    return replace(entry, changes=replace(entry.changes, **changes))


def with_closed(entries: Iterable[Entry], closed: Mapping[str, AbstractSet[str]]) -> list[Entry]:
    """Return entries with the given calls closed. Entries without such calls are not copied.

    Args:
        entries: the entries.
        closed: the ids of the calls, by message id.
    """
    changed = list(entries)
    for position, entry in enumerate(changed):
        if entry.id in closed:
            changed[position] = with_changes(entry, closed=frozenset(closed[entry.id]))
    return changed


def without_some_media(
    entries: Iterable[Entry],
    left_out: Mapping[str, AbstractSet[int]],
    count: Callable[[Message], int],
    *,
    no_recall: bool = False,
) -> list[Entry]:
    """Return entries without some of their media. Entries that lose no media are not copied.

    Args:
        entries: the entries.
        left_out: the numbers of the media, by message id.
        count: counts the tokens of the lines that replace the media.
        no_recall: whether these lines name no way to recall the media.
    """
    changed = list(entries)
    for position, entry in enumerate(changed):
        if entry.id in left_out:
            changed[position] = lighter(entry, left_out[entry.id], count, no_recall=no_recall)
    return changed


def lighter(
    entry: Entry, numbers: AbstractSet[int], count: Callable[[Message], int], *, no_recall: bool = False
) -> Entry:
    """Return an entry without some of its media. A line of text replaces each medium.

    Args:
        entry: the entry. It is returned itself if it already leaves these media out.
        numbers: the numbers of the media.
        count: counts the tokens of the lines.
        no_recall: whether the lines name no way to recall the media.
    """
    changes = entry.changes
    form = entry.form
    if changes.omits and changes.no_recall == no_recall and numbers <= changes.omits:
        return entry
    without = replace(entry, changes=replace(changes, omits=changes.omits | numbers, no_recall=no_recall))
    media = _media_size(entry, numbers)
    old_lines = _lines_size(entry, count)
    new_lines = _lines_size(without, count)
    tokens = max(0, entry.tokens - media.tokens - old_lines.tokens) + new_lines.tokens
    size_bytes = max(0, form.size_bytes - media.size_bytes - old_lines.size_bytes) + new_lines.size_bytes
    return replace(without, tokens=tokens, form=replace(form, size_bytes=size_bytes))


class _Size(NamedTuple):
    """The size of a part of a message."""

    tokens: int
    size_bytes: int


def _media_size(entry: Entry, numbers: AbstractSet[int]) -> _Size:
    """Return the size, in base64, of the media with these numbers. Media that the entry leaves out are not counted."""
    media = [medium for number, medium in entry.shown_media if number in numbers]
    return _Size(sum([medium.tokens for medium in media]), sum([medium.chars for medium in media]))


def _lines_size(entry: Entry, count: Callable[[Message], int]) -> _Size:
    """Return the size of the lines that a view shows instead of an entry's media."""
    media = entry.form.media
    tokens_of_no_text = count({"content": ""})
    size = _Size(0, 0)
    for number in sorted(entry.changes.omits):
        line = media[number].line(entry.media_reference, number, len(media))
        line_tokens = count({"content": line}) - tokens_of_no_text
        size = _Size(size.tokens + line_tokens, size.size_bytes + len(line) + _LINE_BYTES)
    return size


def end_chains(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries that name no server-side conversation, because a new plan follows these entries."""
    changed = list(entries)
    for position, entry in enumerate(changed):
        if _names_chain(entry):
            changed[position] = with_changes(entry, chain_ends=True)
    return changed


def _names_chain(entry: Entry) -> bool:
    bond = entry.reasoning.bond
    return bond is not None and bool(bond.chained) and not entry.changes.chain_ends


def media_left_out(entries: Iterable[Entry]) -> dict[str, frozenset[int]]:
    """Return the numbers of the media that entries leave out, by message id."""
    return {entry.id: entry.changes.omits for entry in entries if entry.changes.omits and entry.id}


def gives_way(role: str, source: Any) -> bool:
    """Return whether a stored system message is left out when a factory gives the system text."""
    return role == "system" and source not in ("hook", MEMORY_FILE_SOURCE)
