"""Write the output of a purge: one pass over a log's lines, which writes the records that stay.

The pass scans the log again, so it knows at each record which messages are live, that is, in the current history. A
reset is a group of records that replaces the history. Resets are not copied: the new messages of a reset are written as
messages, and at the place where the reset took effect a new reset is written, which keeps the live messages that stay.
The new reset has the id, the reason and the time of the old one, so that two copies of a log that were purged alike
have the same resets (`relation_of_copies`). A message that was never live, because its reset was interrupted, is not
live afterwards either.

The pass can continue with records that were appended during it. The messages to remove are fixed when the pass begins,
and no later message is removed. The lines get a new chain of checksums (`ChainedLines`), and are checked before they
replace the log (`check_written`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from ...errors import PurgeError
from ...log.checksum import CRC_TAIL_BYTES, has_crc
from ...log.format_version import as_known_version
from ...log.index import ASSISTANT, DAMAGED, UNCHAINED, Index
from ...log.read_back import NumberedLine
from ...log.record_kinds import holds_item, kind_of
from ...log.record_line import Member, Message, decode, encode_control, encode_object, member_of, message_id_of, name_of
from ...log.reset_record import Reset, parse, reset_bodies
from ...log.scanner import Scanner
from ...messages.message import metadata_of
from ...messages.metadata import bound_to, without_bound
from ...messages.replace_in_message import Replace, holds_in_names, redact_message, replace_in
from ...sessions.raw_records import StoredLog, control_body, pieces_of, strings_of, was_live
from .chained_lines import ChainedLines
from .purge_options import Purge, PurgeCounts
from .redact_control import redact_control, without_title
from .redact_raw_bytes import redact_bytes
from .reused_scan import are_same_lines

SCANNER = partial(Scanner, finds_plain_users=False)
"""Makes the scanner of a purge, which need not find plain messages of a person."""

_TOO_DAMAGED = "the damage in this log is such that it cannot be purged so; only --everything works"
_CHANGED = "the log was changed otherwise than by appending; nothing was changed in it by the purge; try again"
_DAMAGED = frozenset({"checksum", "unchained", "repeated", "reset"})
_DAMAGED_RECORD = b'{"_record":"damaged"}'
"""A record that replaces damage that is not copied. The record has no checksum, so readers report it."""

_INTERRUPTED = "interrupted"
"""The id of the reset to which messages that were never live are assigned."""


def ordinals_gone(index: Index, purge: Purge) -> set[int]:
    """Return the ordinals of the messages that a purge removes.

    Raises:
        PurgeError: no live message has the id that the purge names.
    """
    every = range(len(index))
    if purge.everything:
        return set(every)
    if purge.cleared:
        return set(every) - set(index.live)
    if purge.took is not None:
        return {ordinal for ordinal in every if purge.took(index.columns.id_hashes[ordinal])}
    if purge.before is None:
        return set()
    first = _first_kept(index, purge.before)
    position = index.live.index(first)
    return set(index.live[:position]) | {ordinal for ordinal in range(first) if not index.is_live(ordinal)}


def _first_kept(index: Index, message_id: str) -> int:
    first = index.find(message_id)
    if first is None or not index.is_live(first):
        raise PurgeError("no live message has this id; what is hidden is purged with --cleared")
    return first


class Rewrite:
    """One pass over a log that writes the records that stay after a purge.

    Args:
        reader: the scanned log; its current content decides which messages are removed.
        purge: the purge's options.
        counts: the counts of the purge, which the pass fills in.
        lines: receives the records and other bytes that stay.
        time: the time of resets whose own description is damaged or redacted, in ISO 8601.
        unaltered: the ids of messages in which a plan of this purge found nothing to redact, by ordinal.
        scanner: scans the lines; a new one by default.
    """

    def __init__(
        self,
        reader: StoredLog,
        purge: Purge,
        counts: PurgeCounts,
        lines: ChainedLines,
        *,
        time: str,
        unaltered: Mapping[int, str] = MappingProxyType({}),
        scanner: Scanner | None = None,
    ) -> None:
        self._reader = reader
        self.counts = counts
        self._time = time
        self._lines = lines
        self._put = lines.put
        index = reader.index
        self._total = len(index)
        self._gone = ordinals_gone(index, purge)
        if purge.took_all and len(self._gone) == self._total:
            purge = replace(purge, everything=True)
        self._purge = purge
        self._cut_offset = 0 if purge.before is None else index.columns.offsets[_first_kept(index, purge.before)]
        self._gone_ids: set[str] = set()
        self._was_live = bytearray() if purge.everything else was_live(reader)
        self._scanner = scanner or SCANNER(reader.max_record_bytes)
        self._ids: list[str] = []
        self._live: list[int] = []
        """The ordinals that are live in the new file."""
        self._reset: Reset | None = None
        """The last description of a reset that was read."""
        self._reset_ids = set[str]()
        """The ids of the resets in the new file."""
        self._asked = ("", "")
        """The provider and the model that the new file names for the next answer."""
        self._answer_altered = False
        """Whether the current answer was redacted: its later reasoning is bound to the text before the redaction."""
        self.unaltered: dict[int, str] = {}
        """The ids of messages in which this pass found nothing to redact, by ordinal."""
        self._known_unaltered = unaltered
        self._plan_put = False
        self._late: list[bytes] = []
        counts.messages_removed = len(self._gone)
        counts.messages_kept = self._total - len(self._gone)
        self._any_chained = any(not flags & UNCHAINED for flags in index.columns.flags) or bool(index.headers)

    def expected(self) -> list[int]:
        """Return the hashes of the ids of the messages that stay live, in order."""
        hashes = self._scanner.index.columns.id_hashes
        return [hashes[ordinal] for ordinal in self._live]

    def run(self) -> None:
        """Write the records that stay, up to the end that the log had when the pass began.

        Raises:
            PurgeError: the log is too damaged for this purge.
        """
        if self._purge.everything:
            self._keep_headers()
        else:
            self._keep_parts()
        # records appended later are only redacted, never removed
        self._purge, self._cut_offset = (
            replace(self._purge, before=None, cleared=False, everything=False, took=None, took_all=False),
            0,
        )

    def _keep_parts(self) -> None:
        """Write all records except the records that the purge removes.

        Raises:
            PurgeError: a line is too long, or the log is too damaged or was changed during the pass.
        """
        old_index = self._reader.index
        if any(found.kind == "oversized" for found in old_index.damage):
            raise PurgeError("a line is too long to be carried over; only --everything removes it")
        for line in self._reader.whole_lines():
            self._take(line)
        index = self._scanner.index
        if index.live != old_index.live or len(index) != self._total:
            raise PurgeError(_TOO_DAMAGED if index.damage else _CHANGED)
        if not are_same_lines(index, old_index):
            raise PurgeError(_CHANGED)
        if self._purge.cleared:
            for ordinal, content in self._reader.lines(old_index.live):
                self._put_message(ordinal, content, decode(content), damaged=self._is_damaged(ordinal))
            for body in self._late:
                self._put(body)
        has_damage_after_cut = any(found.offset >= self._cut_offset for found in old_index.damage)
        if has_damage_after_cut and not self._lines.has_raw:
            self._lines.put_raw(_DAMAGED_RECORD)  # no damaged bytes were copied; readers must still report damage
        self._live = [ordinal for ordinal in index.live if ordinal not in self._gone]
        staying_ordinals = [ordinal for ordinal in range(self._total) if ordinal not in self._gone]
        self.counts.altered_kept = sum(bool(index.columns.flags[ordinal] & DAMAGED) for ordinal in staying_ordinals)

    def take_appended(self, lines: Iterator[NumberedLine]) -> None:
        """Write the records that were appended after the pass began. None is removed, but their texts are redacted."""
        for line in lines:
            self._take(line)

    def _keep_headers(self) -> None:
        """Write only the headers and count the other records, which need not be read."""
        index = self._reader.index
        scanner = SCANNER(self._reader.max_record_bytes)
        for name, count in index.control_counts.items():
            kind = kind_of(name)
            if not kind.permanent and not kind.bundles:
                self.counts.controls_removed += count
        for found in index.damage:
            if found.kind in ("unreadable", "oversized", "glued"):
                self.counts.unreadable_removed += 1
        damaged = {found.line for found in index.damage if found.kind in _DAMAGED}
        places = self._reader.scanner.builder.places.headers
        for header, place in zip(index.headers, places, strict=True):
            self._put_control(encode_object(as_known_version(without_title(header))), damaged=place.line in damaged)
        scanner.go_on(self._reader.scanner)
        self._scanner = scanner
        self._total = 0
        self._gone = set()
        self._was_live = bytearray()

    # -- one line ----------------------------------------------------------------------------------------------------

    def _take(self, line: NumberedLine) -> None:
        """Scan the next line, and write the part of it that the purge keeps."""
        scanner = self._scanner
        index = scanner.index
        first = len(index)
        generation_before = index.generation
        findings_before = len(index.damage)
        copies_before = len(scanner.builder.left_out)
        if (line.number, line.offset) == (scanner.line + 1, scanner.offset):
            scanner.feed_lines([line.content + b"\n"])  # this way a sound message is not parsed
        else:
            scanner.take(line.content, line.number, line.offset)
        new_findings = index.damage[findings_before:]
        if not new_findings and self._is_known_unaltered(line, first):
            self._take_unaltered(first, line.content)
        else:
            is_damaged = any(found.kind in _DAMAGED and found.line == line.number for found in new_findings)
            self.take_pieces(line, first, damaged=is_damaged)
        left_out = scanner.builder.left_out[copies_before:]
        if left_out:  # readers of the new log will leave out these copies too
            self._live = [ordinal for ordinal in self._live if ordinal not in left_out]
        if index.generation != generation_before + len(left_out):
            self._take_reset(index)

    def _is_known_unaltered(self, line: NumberedLine, ordinal: int) -> bool:
        """Return whether a line just scanned is a message in which the plan found nothing to redact."""
        index, known = self._scanner.index, self._reader.index
        if ordinal not in self._known_unaltered or len(index) != ordinal + 1:
            return False
        place = (line.offset, len(line.content) + 1)
        is_same_place = place == (known.columns.offsets[ordinal], known.columns.lengths[ordinal])
        return is_same_place and index.columns.checks[ordinal] == known.columns.checks[ordinal]

    def _take_unaltered(self, ordinal: int, line: bytes) -> None:
        """Copy a message that the plan has already searched; its checksum shows that the line is unchanged."""
        self._ids.append(self._known_unaltered[ordinal])
        self._answer_altered = False
        if self._scanner.index.columns.roles[ordinal] == ASSISTANT:
            self._put_asked(ordinal)
        self._put(line[:-CRC_TAIL_BYTES])
        if self._stays_live(ordinal):
            self._live.append(ordinal)

    def take_pieces(self, line: NumberedLine, first: int, *, damaged: bool) -> None:
        """Write or remove the records and other bytes of a line, whose first message has the ordinal `first`."""
        index = self._scanner.index
        offsets = {index.columns.offsets[ordinal]: ordinal for ordinal in range(first, len(index))}
        for offset, content, value in pieces_of(line.offset, line.content):
            if value is None:
                self._take_raw(offset, content)
            elif "_record" in value:
                self._take_control(offset, content, value, damaged=damaged)
            elif offset in offsets:
                self._take_message(offsets[offset], content, value, offset, damaged=damaged)

    def _take_raw(self, offset: int, line: bytes) -> None:
        if offset < self._cut_offset:
            self.counts.unreadable_removed += 1
            return
        replace = self._purge.redact
        if replace:
            changed = redact_bytes(line, replace)
            if changed != line:
                self.counts.unreadable_removed += 1
            if changed is None:
                self._lines.put_raw(_DAMAGED_RECORD)
                return
            line = changed
        self.counts.unreadable_kept += 1
        self._lines.put_raw(line)

    def _take_message(self, ordinal: int, line: bytes, value: Message, offset: int, *, damaged: bool) -> None:
        self._ids.append(message_id_of(value, line, offset))
        if not self._stays_live(ordinal) and self._ids[ordinal] in self._gone_ids:
            self._gone.add(ordinal)  # a damaged copy of a removed message
        if ordinal in self._gone:
            self._gone_ids.add(self._ids[ordinal])
        elif not self._purge.cleared:
            self._put_message(ordinal, line, value, damaged=damaged)
            if self._stays_live(ordinal):
                self._live.append(ordinal)

    def _is_damaged(self, ordinal: int) -> bool:
        flags = self._reader.index.columns.flags[ordinal]
        return bool(flags & DAMAGED) or (bool(flags & UNCHAINED) and self._any_chained)

    def _put_message(self, ordinal: int, line: bytes, value: Message, *, damaged: bool) -> None:
        """Write a message. A damaged message stays damaged, so that every reader reports it."""
        body = self._message_body(ordinal, line, value)
        if value.get("role") == "assistant":
            self._put_asked(ordinal)
        is_same = has_crc(line) and len(body) + CRC_TAIL_BYTES == len(line) and line.startswith(body)
        is_named = self._purge.redact is not None and holds_in_names(value, self._purge.redact)
        self.counts.names_matching += is_named
        has_nothing_to_redact = is_same and not damaged and not is_named and not self._answer_altered
        if self._purge.redact and has_nothing_to_redact:
            self.unaltered[ordinal] = self._ids[ordinal]
        if not damaged:
            self._put(body)
        elif has_crc(line):
            self._lines.put_raw(body + line[-CRC_TAIL_BYTES:])
        else:
            self._lines.put_raw(body + b"}")

    def _put_asked(self, ordinal: int) -> None:
        """Keep the model's name when a receipt is purged; its reasoning may be shown to that model only."""
        provider, model = self._reader.index.model_of(ordinal) if ordinal < self._total else ("", "")
        if provider and (provider, model) != self._asked:
            self._put(encode_control("asked", provider=provider, model=model))
        self._asked = ("", "")

    def _stays_live(self, ordinal: int) -> bool:
        return ordinal >= self._total or bool(self._was_live[ordinal])

    def _message_body(self, ordinal: int, line: bytes, value: Message) -> bytes:
        """Return the body of a message's record after the purge."""
        own_id = self._ids[ordinal]
        changed = self._redacted(value, self._purge.redact) if self._purge.redact else value
        member = None if self._stays_live(ordinal) else Member(_INTERRUPTED, ordinal)
        index = self._reader.index  # while a purge is planned, it may not have read so far
        if ordinal >= self._total and not (ordinal < len(index) and index.is_live(ordinal)):
            member = member_of(line)  # of a reset that was appended during the pass and is not in force
        had_id = metadata_of(value).get("message_id") == own_id
        if had_id and changed == value and member == member_of(line) and has_crc(line):
            return line[:-CRC_TAIL_BYTES]
        ordered = {"role": changed["role"], **changed}
        ordered.pop("metadata", None)
        ordered["metadata"] = {**metadata_of(changed), "message_id": own_id}
        if member is not None:
            ordered["_reset"] = [member.reset_id, member.number]
        return encode_object(ordered)

    def _redacted(self, value: Message, replace: Replace) -> Message:
        """Return a redacted message; an answer that changes loses the hash of its request.

        The later answers of the same response lose their hash too, because their reasoning belongs to the original
        text.
        """
        changed = redact_message(value, replace)
        if changed != value:
            self.counts.messages_redacted += 1
        goes_on = self._answer_altered and "+" in bound_to(value)
        self._answer_altered = value.get("role") == "assistant" and (changed != value or goes_on)
        return without_bound(changed) if self._answer_altered else changed

    def _take_control(self, offset: int, line: bytes, value: Message, *, damaged: bool) -> None:
        """Remove a control record, keep it for the end, or write it redacted."""
        name = name_of(value["_record"])
        kind = kind_of(name)
        is_rewritten = kind.frames or kind.bundles
        if is_rewritten:  # `_take_reset` writes a new reset where this one took effect
            if kind.frames and self._purge.cleared:
                self.counts.controls_removed += 1
            if kind.frames:
                self._reset = parse(value) or self._reset
            if damaged:
                self._lines.put_raw(_DAMAGED_RECORD)
            return
        if kind.permanent:
            self._keep_control(name, line, value, damaged=damaged)
            return
        goes_with_messages = offset < self._cut_offset and not kind.outlives_messages
        if goes_with_messages or self._is_void(name, value):
            self.counts.controls_removed += 1
        elif self._purge.cleared:
            self._late.append(control_body(line, value))
        else:
            self._keep_control(name, line, value, damaged=damaged)

    def _keep_control(self, name: str, line: bytes, value: Message, *, damaged: bool) -> None:
        """Write a control record redacted, or remove the record if records of its kind must not be changed."""
        if name == "header":
            known = as_known_version(value)
            if known is not value:
                line = encode_object(known) + b"}"
                value = known
        changed = redact_control(value, self._purge.redact) if self._purge.redact else value
        is_changed = changed != value
        if name == "header" and self._purge.redact:
            source = changed.get("source")  # the key of an import has the path of its source, and stays
            self.counts.names_matching += replace_in(source, self._purge.redact, frozenset()) != source
        if is_changed:
            self.counts.controls_redacted += 1
        if is_changed and (kind_of(name).named_by_hash or holds_item(value)):
            return
        self._plan_put = self._plan_put or name == "plan"
        if name in ("view", "asked"):
            self._asked = str(value.get("provider", "")), str(value.get("model", ""))
        body = encode_object(changed) if is_changed else control_body(line, value)
        self._put_control(body, damaged=damaged)

    def _put_control(self, body: bytes, *, damaged: bool) -> None:
        """Write a control record. A damaged one gets no checksum, so that readers report the record and ignore it."""
        if damaged:
            self._lines.put_raw(body + b"}")
        else:
            self._put(body)

    def _is_void(self, name: str, value: Message) -> bool:
        """Return whether a control record refers to removed messages or is void after the purge."""
        kind = kind_of(name)
        counts = self.counts
        if kind.depends_on_history:  # the plan depends on the whole history of its view
            return self._purge.redact is None or bool(counts.messages_redacted + counts.controls_redacted)
        if holds_item(value) and (self._gone_ids or counts.messages_redacted):
            return True  # the item may contain any part of the removed messages
        if self._purge.cleared and name == "asked":
            return True  # `_put_asked` writes it again before its answer
        in_force = self._reader.index.session
        if self._purge.cleared and kind.last_in_force and value not in (in_force.plan, *in_force.usage.values()):
            return True
        return bool(self._gone_ids) and any(text in self._gone_ids for text in strings_of(value))

    def _take_reset(self, index: Index) -> None:
        """Write a new reset, which keeps the messages that the old reset kept, without the purged messages.

        Raises:
            PurgeError: the log is too damaged.
        """
        live = [ordinal for ordinal in index.live if ordinal not in self._gone]
        if self._purge.cleared:
            return
        if live == self._live and not self._plan_put:
            self.counts.controls_removed += 2
            return
        if not set(self._live).issuperset(live):
            raise PurgeError(_TOO_DAMAGED)
        reset_id, reason, time = self._name_reset()
        ids = self._ids
        for body in reset_bodies(
            self._live,
            live,
            lambda ordinals: [ids[ordinal] for ordinal in ordinals],
            reset_id=reset_id,
            reason=reason,
            time=time,
        ):
            self._put(body)
        self._live = live
        self._plan_put = False

    def _is_redacted(self, reset: Reset) -> bool:
        """Return whether the purge would redact the id, the reason or the time of a reset."""
        redact = self._purge.redact
        if redact is None:
            return False
        return any(redact(text) != text for text in (reset.id, reset.reason, reset.time))

    def _name_reset(self) -> tuple[str, str, str]:
        """Return the id, the reason and the time of the next reset: those of the reset that took effect."""
        old = self._reset
        if old is None or self._is_redacted(old):
            name = "purge"
            reason = "purge"
            time = self._time
        else:
            name = old.id
            reason = old.reason
            time = old.time
        reset_id = name
        number = 1
        while reset_id in self._reset_ids:  # a damaged reset may take effect twice
            number += 1
            reset_id = f"{name}-{number}"
        self._reset_ids.add(reset_id)
        return reset_id, reason, time


_TOLERATED = ("unreadable", "glued", "unchained", "checksum", "repeated")


def check_written(index: Index, expected: list[int]) -> None:
    """Check that the new log verifies, and that its live messages are the expected ones in their order.

    Raises:
        PurgeError: the check failed.
    """
    wrong = [found for found in index.damage if found.kind not in _TOLERATED]
    if wrong or [index.columns.id_hashes[ordinal] for ordinal in index.live] != expected:
        raise PurgeError(_TOO_DAMAGED)
