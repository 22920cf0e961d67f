"""What is inserted shares `SHARE` of the target: the markers of cuts and gaps first, then the notice, then names.

Markers say how much is missing where, so all of them stay. The notice shrinks to what it has to say, and what the
markers name is left out, before a view tells more of what it does not show than of the session.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..messages.elide import Cut
from .draft import Draft
from .gap_markers import Marked, least_cost, name_in_markers
from .notice import Gone, notice_text
from .plan_request import PlanRequest

SHARE = 0.08
CUT_TOKENS, BRIEF_CUT_TOKENS = 20, 10  # about what the marker of a cut text comes to
_CHARS_A_TOKEN = 4


def write_inserted(
    draft: Draft,
    request: PlanRequest,
    marked: Marked,
    cuts: Collection[Cut],
    *,
    step: int,
    dropped: int,
    with_notice: bool,
    with_markers: bool,
) -> tuple[Marked, str]:
    """Write the markers of gaps and the notice.

    Args:
        draft: the view in the making.
        request: what the plan is made from.
        marked: the gaps, described.
        cuts: the cuts of the messages that stay.
        step: the last step that was needed.
        dropped: how many messages are left out.
        with_notice: whether there is a notice.
        with_markers: whether the markers are shown.
    """
    room = int(SHARE * draft.target_tokens) - sum([_marker_tokens(cut) for cut in cuts])
    notice = ""
    if with_notice:
        shortened = sum([cut.shortens for cut in cuts])
        gone = Gone(dropped, shortened, len(marked.gaps), marked.changed, marked.read, marked.in_vain)
        left = room - (least_cost(marked) if with_markers else 0)
        notice = notice_text(request.config, step, gone, request.budget_tokens, request.count, room_tokens=left)
    if not with_markers:
        return replace(marked, gaps=tuple(replace(gap, text="") for gap in marked.gaps)), notice
    room -= len(notice) // _CHARS_A_TOKEN
    return name_in_markers(marked, draft, room, recall=request.config.offers_recall), notice


def _marker_tokens(cut: Cut) -> int:
    """About what the marker of a cut comes to."""
    if not cut.shortens:
        return 0
    return BRIEF_CUT_TOKENS if cut.brief else CUT_TOKENS
