"""Writing the sessions of an import: new logs, or what is new in logs that an earlier import made."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..errors import ContextPersistentError, LogUnreadableError
from ..log.atomic_file import check_free, taken_error
from ..log.base import Log
from ..log.index import Index
from ..log.location import is_postgres
from ..log.open import check_is_free, open_log
from ..log.record import CRC_TAIL_BYTES, FORMAT_VERSION, encode_control
from ..messages.metadata import given_id
from ..transcript.transcript import Transcript
from .copy import NewLog
from .drafts import Draft, Drafts
from .host_files import write_host_files
from .rewind import rewind_session
from .targets import Target

_BATCH_BYTES = 4 << 20


class ImportConflictError(ContextPersistentError, ValueError):
    """A session that was imported before went on here, or changed in its source, so that nothing can be added to it."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What an earlier import made: how many of its messages are the source's still, and how many there are."""

    common: int
    live: int
    last_common_id: str
    records: int
    """The records of the earlier import."""


def write_all(
    drafts: Drafts,
    targets: Sequence[Target],
    format_name: str,
    facts: Mapping[str, Any],
    *,
    dry_run: bool,
    now: Callable[[], str],
    new_id: Callable[[], str],
) -> list[int]:
    """Write all sessions; how many messages each of them got.

    Sub-agents and branches come first: where the session itself is there, they are. If one cannot be written, the files
    that this import made are removed; logs in a database stay, and the next import of the same source goes on there.

    Raises:
        FileExistsError: something that is no earlier import of the same session has the name of a log.
        ImportConflictError: nothing can be added to an earlier import.
        OSError: a log cannot be written.
    """
    found = [_earlier(drafts, target) for target in targets]
    added = [target.draft.messages - (old.common if old else 0) for target, old in zip(targets, found, strict=True)]
    if dry_run:
        return added
    made: list[str] = []
    try:
        for target, old, number in reversed(list(zip(targets, found, added, strict=True))):
            header = _header(target, targets, format_name, facts, created=now(), log_id=new_id())
            if old is None:
                _write(drafts, target, header)
                made.append(target.path)
            elif number or old.common < old.live:
                _add(drafts, target, old, header)
    except BaseException:
        for path in made:
            with suppress(OSError):
                os.remove(path)
                os.rmdir(os.path.dirname(path))
        raise
    for target in targets:
        if target.path in made and not is_postgres(target.path):
            write_host_files(target.path, created=now(), parent_id=target.parent_id)
    return added


def _header(
    target: Target, targets: Sequence[Target], format_name: str, facts: Mapping[str, Any], *, created: str, log_id: str
) -> bytes:
    draft, start = target.draft, target.draft.start
    others = targets[1:] if target is targets[0] else ()
    links = {
        kind: [other.session_id or other.path for other in others if other.draft.start.kind == word]
        for kind, word in (("subagents", "subagent"), ("branches", "branch"))
    }
    source = {
        "format": format_name,
        "key": target.key,
        "session_id": start.source_id or None,
        **{key: value for key, value in start.facts.items() if value not in (None, "", {}, [])},
        **{key: value for key, value in links.items() if value},
        **(facts if target is targets[0] else {"file": facts["file"]}),
        "messages": draft.messages,
        "records": len(draft.offsets),
    }
    parents = {"parent_id": target.parent_id, "forked_from": start.forked_from or None}
    return encode_control(
        "header",
        version=FORMAT_VERSION,
        log_id=log_id,
        session_id=target.session_id,
        tokenizer="estimate",
        created=created,
        **{key: value for key, value in parents.items() if value},
        imported_from=format_name,
        source=source,
    )


def _write(drafts: Drafts, target: Target, header: bytes) -> None:
    with NewLog(target.path) as log:
        log.append(header)
        for body, _ in drafts.bodies(target.draft):
            log.append(body)
        log.finish()


def _earlier(drafts: Drafts, target: Target) -> _Found | None:
    """What an earlier import of the same session made; None where nothing has its name.

    Raises:
        FileExistsError: what has its name is something else.
        ImportConflictError: it went on here, and in its source too.
    """
    if is_postgres(target.path):
        try:
            check_is_free(target.path)
        except FileExistsError as taken:
            return _compared(drafts, target, taken)
        return None
    if not os.path.lexists(target.path) or os.path.islink(target.path) or not os.path.isfile(target.path):
        check_free(target.path)
        return None
    return _compared(drafts, target, taken_error(target.path))


def _compared(drafts: Drafts, target: Target, taken: FileExistsError) -> _Found:
    """Compare what is there with the source.

    Raises:
        FileExistsError: `taken`; it is something else.
        ImportConflictError: it went on here, and in its source too.
    """
    try:
        opened = Transcript(target.path)
    except LogUnreadableError as error:  # no log at all
        raise taken from error
    with opened as there:
        source = there.header.get("source")
        if not isinstance(source, dict) or source.get("key") != target.key:
            raise taken
        reader, live = there.reader, there.reader.index.live
        common = 0
        bodies = (body for body, is_message in drafts.bodies(target.draft) if is_message)
        for body, (_, line) in zip(bodies, reader.lines(live), strict=False):
            if line[:-CRC_TAIL_BYTES] != body:
                break
            common += 1
        records, messages = source.get("records"), source.get("messages")
        old = _Found(
            common,
            len(live),
            (given_id(next(reader.read(live[common - 1 : common]))) or "") if common else "",
            records if isinstance(records, int) else 0,
        )
        if common < target.draft.messages and common < len(live):
            _check_untouched(target, old, messages)
    if old.common == target.draft.messages < old.live and messages != old.live:
        return _Found(old.common, old.common, old.last_common_id, old.records)  # it went on here only
    return old


def _check_untouched(target: Target, old: _Found, messages: Any) -> None:
    if messages != old.live:
        raise ImportConflictError(
            f"session {target.session_id or target.path} went on here after {old.common:,} messages of its source, and "
            "the source went on too; import it under another id (--session)"
        )
    if not old.common:
        raise ImportConflictError(
            f"session {target.session_id or target.path} was imported before, and its source begins with another "
            "message now; import it under another id (--session)"
        )


def _add(drafts: Drafts, target: Target, old: _Found, header: bytes) -> None:
    """Append what is new; what changed in the source since is hidden first, as a rewind does."""
    if old.common < old.live:
        rewind_session(target.path, old.last_common_id)
    start = _first_new(target.draft, old)
    log = open_log(target.path)
    try:
        batch, size = [header], 0
        for body, _ in drafts.bodies(target.draft, start):
            batch.append(body)
            size += len(body)
            if size > _BATCH_BYTES:
                _append(log, batch)
                batch, size = [], 0
        if batch:
            _append(log, batch)
    finally:
        log.close()


def _first_new(draft: Draft, old: _Found) -> int:
    """The first record that the log lacks: after the last common message, and what followed it the last time."""
    start = draft.record_after(old.common)
    there = max(0, old.records - start) if old.common == old.live else 0
    rest = islice(draft.is_message, start, start + there)
    return start + next((number for number, is_message in enumerate(rest) if is_message), there)


def _append(log: Log, bodies: list[bytes]) -> None:
    def prepare(_: Index) -> list[bytes]:
        return bodies

    (outcome,) = log.append([prepare])
    if isinstance(outcome, Exception):
        raise outcome
