"""The span of a history that a summary replaces, and whether a text may replace it. Pure."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from ..messages.message import Message
from ..messages.terms import spans
from ..view.entry import Entry
from .always_kept import recent_start
from .draft import Draft
from .plan_request import Summary
from .refusals import MOST_REFUSAL_CHARS, is_refusal


@dataclass(frozen=True, slots=True)
class Span:
    """The messages that a summary will replace, by their ordinals, and the request that asks for it."""

    ordinals: frozenset[int]
    basis: Hashable
    request: list[Message]
    with_tools: bool
    """Whether the request is the view with the instruction, and so begins as the last one did."""
    tokens: int
    evidence: frozenset[str] = frozenset()
    """The names and figures of the span; a summary has some of them."""
    replaced_tokens: int = 0
    """The tokens of the messages that it replaces."""


LEAST_EVIDENCE = 5  # names and figures of a span; a span with fewer may be summed up without any
LEAST_NAMED = 3  # of them that a short answer has to have, if there are enough: a refusal may repeat one or two
_FIGURE = re.compile(r"(?<![\w.])\d[\d.,:]*\d(?!\w)")


def evidence_of(entries: Iterable[Entry], texts: Iterable[str], earlier: str) -> frozenset[str]:
    """The names and the figures of messages, and of the summary before them."""
    figures = {figure for text in (*texts, earlier) for figure in _FIGURE.findall(text)}
    return frozenset(figures.union(spans(earlier), *[entry.gist.terms.names for entry in entries]))


def why_no_summary(text: str, tokens: int, span: Span) -> str:
    """Tell why a text may not replace a span; empty if it may."""
    if is_refusal(text):
        return "the answer is a refusal"
    if span.replaced_tokens and tokens >= span.replaced_tokens:
        return f"the answer has {tokens:,} tokens, and what it sums up {span.replaced_tokens:,}"
    least = min(LEAST_NAMED if len(text) <= MOST_REFUSAL_CHARS else 1, len(span.evidence) // LEAST_EVIDENCE)
    if sum(one in text for one in span.evidence) < least:
        return f"the answer has fewer than {least} of the names and figures that it sums up"
    return ""


def older_ordinals(draft: Draft) -> frozenset[int]:
    """The ordinals of what is older than the protected share and may go: no person's words, system text or pins."""
    start = recent_start(draft)
    positions = [position for position in draft.left() if position < start and position not in draft.fixed]
    groups = [draft.view.groups[position] for position in positions if not draft.view.groups[position].head.human]
    return frozenset(entry.ordinal for group in groups for entry in group.entries())


def drop_span(draft: Draft, summary: Summary) -> None:
    """Leave out what a summary replaces, whole groups only."""
    for position in draft.left():
        group = draft.view.groups[position]
        if position not in draft.fixed and all(entry.ordinal in summary.ordinals for entry in group.entries()):
            draft.drop(position)
