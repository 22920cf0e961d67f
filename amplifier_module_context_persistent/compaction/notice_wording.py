"""The wording of the notice: one text that sums up what a view leaves out, and how the model can read it."""

from __future__ import annotations

from collections.abc import Sequence

from ..view.inserted_messages import inserted_message
from ..view.plan import Plan
from .draft import Draft
from .marker_wording import counted
from .told_files import files_text

NOTICE_SHARE = 0.02  # of the budget; if even the shortest notice is longer, there is no notice


def notice_text(draft: Draft, plan: Plan, *, step: int, room_tokens: int) -> str:
    """Return the longest notice that the configuration, the budget and the room allow; "" if none is short enough.

    Shorter wordings leave out the names of files first, then the failed commands, and then how to read the rest. The
    room (`room_tokens`) limits only wordings with names of files.
    """
    most_tokens = min(draft.config.compaction_notice_token_reserve, int(draft.request.budget_tokens * NOTICE_SHARE))
    files = files_text(plan.left_out.changed, plan.left_out.read)
    for wording in _notice_wordings(draft, plan, files, step=step, most_tokens=most_tokens):
        text = f"<system-reminder>\n{wording}\n</system-reminder>"
        names_files = files != "" and files in wording
        most = min(most_tokens, room_tokens) if names_files else most_tokens
        if draft.request.count(inserted_message("user", text)) <= most:
            return text
    return ""


def _notice_wordings(draft: Draft, plan: Plan, files: str, *, step: int, most_tokens: int) -> list[str]:
    """Return the wordings of the notice that `compaction_notice_verbosity` allows, the longest first."""
    config = draft.config
    gaps = plan.left_out.gaps or ()
    places = f", in {len(gaps)} places that are marked" if len(gaps) > 1 else ""
    minimal = f"{_number(plan.left_out.messages, 'earlier message')} left out of this view{places}."
    if config.compaction_notice_verbosity == "minimal":
        return [minimal]
    shortened = sum(cut.shortens for cut in plan.cuts.values())
    cut = f" {_number(shortened, 'long text')} shortened." if shortened else ""
    failed = _failed(draft, plan.left_out.in_vain, most_tokens // 2)
    way_back = WAY_BACK if config.offers_recall else NO_WAY_BACK
    normal = f"{minimal}{cut}{files}{failed} {way_back}"
    wordings = [normal, f"{minimal}{cut}{failed} {way_back}", f"{minimal}{cut} {way_back}", minimal]
    if config.compaction_notice_verbosity == "verbose":
        wordings.insert(0, f"{normal} Compaction went to step {step} to fit {draft.request.budget_tokens:,} tokens.")
    return wordings


WAY_BACK = (
    "The tool recall gives them back: by search (query), or by the id that a marker or a cut text names "
    "(reference). Recall or look again rather than guess what was said."
)
NO_WAY_BACK = (
    "They are kept in the session's log; "
    "work from what is shown, and look again at a file or a result rather than guess what it said."
)


def _failed(draft: Draft, commands: Sequence[str], most_tokens: int) -> str:
    """Return a sentence that names the newest failed commands, as many as fit into `most_tokens`; "" if none fits."""
    tokens = 0
    newest = list[str]()
    for command in reversed(commands):
        tokens += draft.request.count(inserted_message("user", command))
        if tokens > most_tokens:
            break
        newest.insert(0, command)
    return f" Commands that failed in them: {' | '.join(newest)}." if newest else ""


def _number(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {'is' if count == 1 else 'are'}"
