"""Apply erasures to an import: a deleted session is not imported again, and a purged text is replaced again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from ....erasures.erasure_list import ErasureLists
from ....erasures.erasure_record import MESSAGES, SESSION, TEXT, ErasedError, Erasure
from ....log.record_line import CONTROL_HEAD, Message, decode, encode_object
from ....log.salted_name import salted_name
from ....messages.replace_in_message import Replace, redact_message
from ...maintenance.redact_control import redact_control
from ..erasing.erased_session_names import content_name, name_of_log, names_of_key
from ..erasing.erasure_is_about import concerning
from ..erasing.message_names import answers_in_draft, names_in_draft
from ..erasing.talk_names import talk_in_draft
from .drafts import SessionDraft
from .earlier_import import began

ADVICE = "--again imports it all the same"


@dataclass(slots=True)
class Honoured:
    """The result of applying erasures to an import."""

    sessions: list[SessionDraft]
    sentences: list[str] = field(default_factory=list)
    """Sentences for a person about sessions that were left out and texts that were replaced."""
    overridden: list[Erasure] = field(default_factory=list)
    """The erasures that were ignored, because a person asked to import everything."""


def honour_erasures(
    sessions: Sequence[SessionDraft], present: Sequence[bool], lists: ErasureLists, *, again: bool
) -> Honoured:
    """Leave out sessions of an import that were deleted here, and replace texts that were purged.

    Args:
        sessions: the sessions, the main one first, with their paths and keys.
        present: for each session, whether the log of an earlier import exists.
        lists: reads the lists of erasures.
        again: import everything nevertheless.

    Raises:
        ErasedError: the session was deleted, or its messages were purged. In a file of several sessions: all of them.
        OSError: a list of erasures cannot be read, so it is not known what was erased.
    """
    found = lists.in_force(sessions[0].target.path)
    honoured = Honoured([])
    origins = {draft.family: draft.start.origin_logs for draft in sessions if draft.start.origin_logs}
    for draft, is_present in zip(sessions, present, strict=True):
        about = _erasures_about(draft, found, origins.get(draft.family, ()), is_present=is_present)
        if again:
            honoured.overridden += about
            honoured.sessions.append(draft)
            continue
        why = _why_left_out(about, is_present=is_present)
        if not why:
            for erasure in about:
                _apply(erasure, draft, honoured)
            honoured.sessions.append(draft)
            continue
        is_only_family = draft is sessions[0] and sessions[-1].family == draft.family
        if is_only_family:
            raise ErasedError(f"{why}; {ADVICE}")
        honoured.sentences.append(f"{draft.target.name}: {why}, and is left out; {ADVICE}")
    if not honoured.sessions:
        raise ErasedError(f"all its sessions were deleted or purged here; {ADVICE}")
    return honoured


def _erasures_about(
    draft: SessionDraft, found: Sequence[Erasure], origin_logs: Sequence[str], *, is_present: bool
) -> list[Erasure]:
    """Return the erasures that are about a session, or about one of the logs that its file was written from.

    A session with an id of its own may have some messages of a deleted one, as a fork has. So a deletion is about it by
    its messages only if it has most of them from the deleted session. A file without such an id counts as a copy of
    the deleted session if it has one of its messages.

    If the session is here, a deletion is about it only by the names of its source. A deleted session with the same
    messages was another one, such as a second import under another id. And a fork that was here already keeps what was
    purged from its origin alone, although both have the same answers.
    """
    if not found:
        return []
    has_id = bool(draft.start.source_id)
    names, contents = names_of_key(draft.target.key, has_id=has_id), _contents(draft)
    answers = cache(partial(answers_in_draft, draft))
    talk = cache(partial(talk_in_draft, draft))
    message_names = names_in_draft(draft)
    itself = {erasure.salt for erasure in concerning(found, names, contents, answers, talk)}
    about = [
        erasure
        for erasure in concerning(found, [*names, *message_names], contents, answers, talk)
        if erasure.what != SESSION or erasure.salt in itself or not has_id or _has_most(erasure, found, message_names)
    ]
    salts = {erasure.salt for erasure in about}
    of_origin = [
        origin_erasure
        for origin_erasure in concerning(found, list(map(name_of_log, origin_logs)))
        if origin_erasure.salt not in salts
    ]
    if not is_present:
        return [*about, *of_origin]
    named_salts = {erasure.salt for erasure in concerning(found, names, contents)}
    found_here = [erasure for erasure in (*about, *of_origin) if erasure.what != SESSION or erasure.salt in named_salts]
    if origin_logs and not draft.target.is_origin:
        came_in = began(draft.target.path)
        return [erasure for erasure in found_here if erasure.salt in named_salts or erasure.time < came_in]
    return found_here


def _has_most(deletion: Erasure, found: Sequence[Erasure], message_names: Sequence[str]) -> bool:
    """Return whether more than half of a session's messages are named by a deletion, or by the purges before it."""
    erasures = [deletion, *(erasure for erasure in found if erasure.salt in deletion.purges)]
    named = sum(
        any(salted_name(erasure.salt, name) in erasure.fingerprints.names for erasure in erasures)
        for name in message_names
    )
    return 2 * named > len(message_names)


def _apply(erasure: Erasure, draft: SessionDraft, honoured: Honoured) -> None:
    """Remove from a draft the content that an erasure names, and note it for the report."""
    if erasure.what == MESSAGES:  # a title may repeat what the messages said
        facts = {key: value for key, value in draft.start.facts.items() if key != "title"}
        draft.start = replace(draft.start, facts=facts)
    if erasure.what == TEXT:
        changed = _replace_in(draft, erasure.rule.replacement)
        if changed:
            records = "1 record" if changed == 1 else f"{changed:,} records"
            honoured.sentences.append(f"a text was purged here on {erasure.day}; it is replaced in {records}; {ADVICE}")


def _why_left_out(about: Sequence[Erasure], *, is_present: bool) -> str:
    """Return the reason why erasures keep a session from being imported, or "" if it is imported."""
    kinds = {erasure.what: erasure for erasure in about}
    erasure = kinds.get(SESSION)
    if erasure:
        return f"this session was deleted here on {erasure.day}"
    if not is_present and (erasure := kinds.get(MESSAGES)):
        return f"messages of this session were purged here on {erasure.day}"
    return ""


def _contents(draft: SessionDraft) -> Any:
    """Return a function that hashes the first messages of a session, by which a session without an id is recognised."""

    @cache  # several erasures may ask for the same count
    def content_of(count: int) -> str:
        if draft.start.source_id or not 0 < count <= draft.messages:
            return ""
        return content_name(draft.bodies[at] for at in draft.at[:count])

    return content_of


def _replace_in(draft: SessionDraft, change: Replace) -> int:
    """Replace a text in all records of a session and in its title, and return the number of changed records."""
    changed = 0
    for number, body in enumerate(draft.bodies):
        value = decode(body + b"}")
        new = redact_control(value, change) if body.startswith(CONTROL_HEAD) else redact_message(value, change)
        if new != value:
            draft.bodies[number] = encode_object(_ordered(new))
            changed += 1
    facts = redact_control({"_record": "source", "entry": draft.start.facts}, change)["entry"]
    draft.start = replace(draft.start, facts=facts)
    return changed


def _ordered(value: Message) -> Message:
    """Return a record with its metadata last, as records are written."""
    if "metadata" not in value:
        return value
    rest: Message = {key: item for key, item in value.items() if key not in ("metadata", "_reset")}
    tail: Message = {key: value[key] for key in ("metadata", "_reset") if key in value}
    return {**rest, **tail}
