"""The span of a history that a summary replaces, and whether a text may replace it. Pure."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from ..messages.message import Message
from ..messages.paths_and_ids import spans
from ..view.entry import Entry
from .always_kept import recent_start
from .draft import Draft
from .plan_request import Summary
from .summary_refusals import MOST_REFUSAL_CHARS, is_refusal


@dataclass(frozen=True, slots=True)
class Span:
    """The messages that a summary will replace, and the request that asks for the summary."""

    ordinals: frozenset[int]
    """The ordinals of the messages that the summary would replace."""
    basis: Hashable
    """Identifies the history and its plan. The summary is valid only while history and plan are the same."""
    request: list[Message]
    with_tools: bool
    """Whether the request is the view plus the instruction, so that it begins like the last request."""
    tokens: int
    """The tokens of the request."""
    evidence: frozenset[str] = frozenset()
    """The names and figures in the span; a valid summary contains some of these."""
    replaced_tokens: int = 0
    """The tokens of the messages that the summary will replace; 0 if not known."""


LEAST_EVIDENCE = 5  # names and figures of a span; the summary of a span with fewer of them needs none
LEAST_NAMED = 3  # of these that a short answer needs, if the span has enough: a refusal may repeat one or two
_FIGURE = re.compile(r"(?<![\w.])\d[\d.,:]*\d(?!\w)")


def evidence_of(entries: Iterable[Entry], texts: Iterable[str], earlier: str) -> frozenset[str]:
    """Return the names and figures in the given messages and in the summary before them.

    Args:
        entries: the entries of the messages, for the names.
        texts: the texts of the messages, for the figures.
        earlier: the summary before the messages; "" if there is none.
    """
    evidence = set[str](spans(earlier))
    for text in (*texts, earlier):
        evidence.update(_FIGURE.findall(text))
    for entry in entries:
        evidence.update(entry.gist.terms.names)
    return frozenset(evidence)


def why_no_summary(text: str, tokens: int, span: Span) -> str:
    """Return why a text must not replace a span of messages; "" if the text may."""
    if is_refusal(text):
        return "the answer is a refusal"
    if span.replaced_tokens and tokens >= span.replaced_tokens:
        return f"the answer has {tokens:,} tokens, and what it sums up {span.replaced_tokens:,}"
    least = min(LEAST_NAMED if len(text) <= MOST_REFUSAL_CHARS else 1, len(span.evidence) // LEAST_EVIDENCE)
    if sum(name in text for name in span.evidence) < least:
        return f"the answer has fewer than {least} of the names and figures that it sums up"
    return ""


def older_ordinals(draft: Draft) -> frozenset[int]:
    """Return the ordinals of the messages that a summary may replace.

    The newest groups, up to the share `protected_recent` of the room, are not among them. Nor are groups with a message
    of a person, or groups that must stay, such as system text and pins.
    """
    start = recent_start(draft)
    ordinals = set[int]()
    for position in draft.kept_positions():
        group = draft.view.groups[position]
        is_older = position < start and position not in draft.fixed
        if is_older and not group.head.human:
            ordinals.update(entry.ordinal for entry in group.entries())
    return frozenset(ordinals)


def leave_out_span(draft: Draft, summary: Summary) -> None:
    """Leave out each group whose messages are all replaced by a summary."""
    for position in draft.kept_positions():
        group = draft.view.groups[position]
        if position not in draft.fixed and all(entry.ordinal in summary.ordinals for entry in group.entries()):
            draft.leave_out(position)
