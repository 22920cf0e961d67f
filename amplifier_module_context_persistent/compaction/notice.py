"""The notice: the text by which a view tells the model what it does not show in all, and how the rest is had."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..config import Config
from ..view.arrangement import Count
from ..view.inserted import inserted_message
from .file_names import files_text
from .gap_markers import Marked

NOTICE_SHARE = 0.02  # of the budget; where even the shortest notice is longer, there is none
FAILED_SHARE = 0.375  # of the notice, for what was tried in vain where there is little room; else half of it


@dataclass(frozen=True, slots=True)
class Gone:
    """What a view does not show."""

    dropped: int
    cut: int
    gaps: int
    changed: Sequence[str] = ()
    """Files that were changed in what is left out, the newest last."""
    read: Sequence[str] = ()
    """Files that were read in it and not changed."""
    in_vain: Sequence[str] = ()
    """Commands that failed in it."""


def notice_text(
    config: Config, step: int, gone: Gone, budget_tokens: int, count: Count, *, room_tokens: int | None = None
) -> str:
    """The text; as long as configured, or as the budget and the room allow.

    What has to be said is said in any room: how much is gone, how the rest is had, and the newest of what was tried in
    vain. Only the names of files need it.
    """
    if not says_what_is_gone(config, step) or not gone.dropped:
        return ""
    where = f", in {gone.gaps} places that are marked" if gone.gaps > 1 else ""
    minimal = f"{_number(gone.dropped, 'earlier message')} left out of this view{where}."
    shortened = f" {_number(gone.cut, 'long text')} shortened." if gone.cut else ""
    files = files_text(gone.changed, gone.read)
    if config.offers_recall:
        way_back = (
            "The tool recall gives them back: by search (query), or by the id that a marker or a cut text names "
            "(reference). Recall or look again rather than guess what was said."
        )
    else:
        way_back = (
            "They are kept in the session's log; "
            "work from what is shown, and look again at a file or a result rather than guess what it said."
        )
    short = f"{minimal}{shortened} {way_back}"
    most = min(config.compaction_notice_token_reserve, int(budget_tokens * NOTICE_SHARE))
    room = most if room_tokens is None else min(most, room_tokens)
    for_failed = min(most // 2, max(int(FAILED_SHARE * most), room - len(short) // 4))
    failed = _failed(gone.in_vain, for_failed, count)
    normal = f"{minimal}{shortened}{files}{failed} {way_back}"
    less = f"{minimal}{shortened}{failed} {way_back}"
    verbose = f"{normal} Compaction went to step {step} to fit {budget_tokens:,} tokens."
    levels = {"minimal": [minimal], "normal": [normal, less, short, minimal]}
    levels["verbose"] = [verbose, *levels["normal"]]
    for text in levels[config.compaction_notice_verbosity]:
        wrapped = f"<system-reminder>\n{text}\n</system-reminder>"
        if count(inserted_message("user", wrapped)) <= (room if files and files in text else most):
            return wrapped
    return ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a notice stands: as a message of its own, or at the end of a result."""

    notice: str
    before: str
    """The id of the message that it is put before."""
    lines: Mapping[str, str]
    """By the id of a result, what is put after its text: the marker of a gap, with the notice at the last one."""


def place_notice(marked: Marked, notice: str, summary: str, before: str) -> Placed:
    """Let a notice stand at the last gap, with its marker.

    Args:
        marked: the gaps.
        notice: the notice; empty for none.
        summary: a summary, which is always a message of its own.
        before: the id of the message that a notice is put before where no gap says it.
    """
    lines = {gap.after: gap.text for gap in marked.gaps if gap.after and gap.text}
    last = next((gap for gap in reversed(marked.gaps) if gap.before not in marked.unmarkable), None)
    if last is not None and last.after and not summary:
        if notice:
            lines[last.after] = f"{last.text}\n{notice}".lstrip("\n")
        return Placed("", "", lines)
    marker = ""
    if last is not None and not last.after:
        marker, before = last.text, last.before
    said = "\n".join(part for part in (marker, notice) if part)
    if summary:
        said = f"{summary}\n\n{said}".rstrip()
    return Placed(said, before, lines)


def says_what_is_gone(config: Config, step: int) -> bool:
    """Whether a view says at all that messages were left out."""
    return config.compaction_notice_enabled and step >= config.compaction_notice_min_level


def _failed(commands: Sequence[str], most_tokens: int, count: Count) -> str:
    """A sentence that names commands, as many of the newest as there is room for."""

    def sentence(number: int) -> str:
        return " Commands that failed in them: " + " | ".join(commands[-number:]) + "." if number else ""

    def too_long(number: int) -> bool:
        return count(inserted_message("user", sentence(number))) > most_tokens

    return sentence(bisect_left(range(1, len(commands) + 1), 1, key=too_long))


def _number(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
