"""The notice: the text by which a view tells the model that it does not show everything, and how the rest is had."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Config
from ..view.arrangement import Count, inserted_message

NOTICE_SHARE = 0.02  # of the budget; where even the shortest notice is longer, there is none


@dataclass(frozen=True, slots=True)
class Gone:
    """What a view does not show."""

    dropped: int
    cut: int
    last: str
    """The id of the newest message that this plan leaves out."""


def notice_text(config: Config, step: int, gone: Gone, budget_tokens: int, count: Count) -> str:
    """The text that tells the model what it does not see; as long as configured, or as the budget allows."""
    if not config.compaction_notice_enabled or step < config.compaction_notice_min_level or not gone.dropped:
        return ""
    minimal = f"{_number(gone.dropped, 'earlier message')} left out of this view."
    shortened = f" {_number(gone.cut, 'long text')} shortened." if gone.cut else ""
    if config.offers_recall:
        newest = f"; the last of them is {gone.last}" if gone.last else ""
        way_back = (
            "The tool recall gives them back: by search (query), or by reference, an id as elided texts name it"
            f"{newest}. Recall or look again rather than guess what was said."
        )
    else:
        way_back = (
            "They are kept in the session's log; "
            "work from what is shown, and look again at a file or a result rather than guess what it said."
        )
    normal = f"{minimal}{shortened} {way_back}"
    verbose = f"{normal} Compaction went to step {step} to fit {budget_tokens:,} tokens."
    levels = {"minimal": [minimal], "normal": [normal, minimal], "verbose": [verbose, normal, minimal]}
    most = min(config.compaction_notice_token_reserve, int(budget_tokens * NOTICE_SHARE))
    for text in levels[config.compaction_notice_verbosity]:
        wrapped = f"<system-reminder>\n{text}\n</system-reminder>"
        if count(inserted_message("user", wrapped)) <= most:
            return wrapped
    return ""


def _number(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
