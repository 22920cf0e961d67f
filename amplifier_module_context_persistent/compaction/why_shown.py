"""Reasons: why a view shows a message or not, found from the view itself.

A plan stores what was decided and not why. Promises (rules about what a view keeps) and losses (prices of leaving
something out) depend on what a view shows alone. So the reasons can be found again: which promise holds a message, and
which names of a missing message the view shows elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..config import Config
from ..messages.message import Message
from ..messages.paths_and_ids import is_figure, terms_of
from ..view.entry import Entry, classify
from .draft import Draft
from .marker_wording import MOST_NAMES
from .plan_request import PlanRequest
from .strategies import STRATEGIES


def why(view: Sequence[Message], asked_messages: Sequence[Message], config: Config, budget_tokens: int) -> list[str]:
    """Return sentences that say why a view shows a tool group, or leaves it out.

    Args:
        view: the messages of the view.
        asked_messages: the messages of the group as the log has them.
        config: the policy.
        budget_tokens: the budget of the view.
    """
    shown_entries = [classify(number, message, _count) for number, message in enumerate(view)]
    wanted = [classify(number, message, _count) for number, message in enumerate(asked_messages)]
    names = _named(wanted)

    def fetch(entries: Sequence[Entry]) -> list[Message]:
        return [view[entry.ordinal] for entry in entries]

    draft = Draft(PlanRequest(shown_entries, config, budget_tokens, 0, _count, fetch=fetch, plan_id=""))
    position = _position_of(wanted, draft)
    if position is None:
        return [_why_gone(names, shown_entries)]
    sentences = list[str]()
    for promise in STRATEGIES[config.compaction_strategy].promises:
        if any(hold.position == position for hold in promise.holds(draft)):
            sentences.append(f"Shown: {promise.name}. {promise.says}")
    elsewhere = set[str]()
    for at in draft.kept_positions():
        if at != position:
            elsewhere |= draft.shown_terms(at)
    only_here = sorted(name for name in draft.shown_terms(position) - elsewhere if not is_figure(name))
    if only_here:
        sentences.append(f"Nothing else in the view shows {_listed(only_here)}.")
    elif not sentences:
        sentences.append("Shown, though no promise holds it and all that it names stands elsewhere: there was room.")
    return sentences


def _position_of(wanted: Sequence[Entry], draft: Draft) -> int | None:
    """Return the position of the group that contains a wanted message in a view.

    The result is None if the view shows none of the wanted messages.
    """
    ids = {entry.id for entry in wanted} - {""}
    for position, members in enumerate(draft.view.members):
        if any(entry.id in ids for entry in members):
            return position
    return None


def count_unshown(view: Iterable[Message], missing: Iterable[Message]) -> int:
    """Return the number of messages in `gone` with a path, a name or an id that the view does not show."""
    shown_names = set[str]()
    for message in view:
        shown_names.update(terms_of(message).names)
    return sum(_has_unshown_name(message, shown_names) for message in missing)


def _has_unshown_name(message: Message, shown_names: set[str]) -> bool:
    """Return whether a message has a path, a name or an id beside the shown ones; figures do not count."""
    return any(name not in shown_names and not is_figure(name) for name in terms_of(message).names)


def _named(entries: Iterable[Entry]) -> set[str]:
    """Return the names in the given messages, without figures."""
    names = set[str]()
    for entry in entries:
        names.update(name for name in entry.gist.terms.names if not is_figure(name))
    return names


def _why_gone(names: set[str], shown_entries: Sequence[Entry]) -> str:
    where: dict[str, str] = {}  # the first shown message with each name
    for entry in reversed(shown_entries):
        if entry.id:
            where.update(dict.fromkeys(names.intersection(entry.gist.terms.names), entry.id))
    missing = sorted(names - where.keys())
    if not names:
        return "Left out: it has no path, name or id that could be needed again."
    places = _listed(sorted(set(where.values())))
    if not missing:
        return f"Left out: everything it names is shown in {places}."
    rest = f"; the other {len(where)} are shown in {places}" if where else ""
    return f"Left out: {_listed(missing)} cost more room than others did{rest}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _count(message: Message) -> int:
    """Estimate the number of tokens in a message."""
    return len(str(message.get("content") or "")) // 4 + len(str(message.get("tool_calls") or "")) // 4 + 4
