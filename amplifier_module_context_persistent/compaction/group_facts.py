"""The facts about one tool group that each plan needs: found once, and kept while the group has the same messages.

A tool group is a message with the results of its calls; a message without calls is a group by itself. A plan goes
through about a thousand groups, and most of them are in the next plan too (`plan_memory`).

Rules:
- Every fact follows from the group's entries alone. Nothing here depends on a plan's configuration, budget or choice,
  or on other groups. Two facts are the answers to the last question (`names_with`, `forms`), kept with the question.
- Entries are never changed. A purge, a pin, a late result or other media give a group another entry, and so other
  facts (`is_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from operator import is_

from ..messages.elide import Cut
from ..view.entry import Entry
from ..view.tool_groups import Group
from .form import Form
from .quotes import answers_of_people, estimated_tokens, quotable

CHARS_A_TOKEN = 4  # approximately, in prose
# Measured beside other values: docs/experiments.md ("What loses least").
FULL_WORTH_CHARS = 160  # length at which the words of a result count fully; "pending" has seven characters


class GroupFacts:
    """The facts about one tool group that plans need and that do not depend on other groups.

    `PlanMemory` keeps them from one plan to the next.

    Args:
        group: the group.
    """

    __slots__ = (
        "_shown",
        "answered",
        "answers_of_people",
        "checksums",
        "forms",
        "group",
        "hook",
        "is_person",
        "is_pinned",
        "is_unanswered",
        "kinds",
        "long_results",
        "members",
        "names",
        "quotable",
        "quote_tokens",
        "speaks",
        "stays_as_system",
        "takes_line",
        "tokens",
        "word_share",
        "written_tokens",
    )

    def __init__(self, group: Group) -> None:
        head = group.head
        self.group, self.members = group, group.entries()
        """The group; its messages: the message with the calls (the head), then the results."""
        self.is_unanswered = group.unanswered
        """Whether a call still lacks its result."""
        self.tokens = sum([entry.tokens for entry in self.members])
        """The tokens of the messages, shown whole."""
        self.is_person = head.human
        """Whether the group is a message of a person."""
        self.is_pinned = group.pinned
        """Whether any message of the group is pinned or protected."""
        self.stays_as_system = head.instructs and head.stays
        """Whether the group is system text that `preserve_system` keeps."""
        self.hook = head.origin.hook
        """The hook that added the group's system message to the conversation; "" for other groups."""
        self.speaks = head.role == "assistant" and head.id != "" and any(head.gist.terms.text_chars)
        """Whether the model wrote text in the group; False for a group that is not in the log."""
        last = self.members[-1]
        self.takes_line = len(self.members) > 1 and last.id != "" and last.gist.terms.text_chars != ()
        """Whether the group ends with a result to whose text a line can be added."""
        self.answered = [
            (number, use, result)
            for number, (use, result) in enumerate(zip(head.gist.uses, group.results, strict=False))
            if result is not None
        ]
        """The calls that have a result: for each, its number in the message, the use of the tool, and the result."""
        self.kinds = frozenset([use.kind for use in head.gist.uses])
        """The kinds of the tools that the group calls (`ToolUse.kind`)."""
        self.checksums = tuple([entry.gist.terms.checksum for entry in self.members[1:]])
        """The checksum of each result's text (`Terms.checksum`)."""
        self.answers_of_people = answers_of_people(group)
        """The results in which a person speaks, each with the words that introduce its quote."""
        self.names = frozenset[str]().union(*[entry.gist.terms.names for entry in self.members])
        """The terms that the group shows if no message of it is cut."""
        self.quotable = quotable(head, self.answers_of_people) if group.results else []
        """The messages that are worth a quote, each with the words that introduce its quote."""
        self.quote_tokens = estimated_tokens(self.quotable)
        """The estimated tokens of the quotes that a marker shows of the group if the group is left out."""
        self.written_tokens = _written_tokens(head)
        """The estimated tokens of the text that a person or the model wrote; 0 for other messages."""
        self.word_share = _worth_of_words(self.members)
        """The worth (0 to 1) of the plain words in the group's results; less than 1 if these are short."""
        self.long_results: list[Entry] | None = None
        """The results that are long enough to be cut (`Forms`); None until a plan asks for the results."""
        self.forms: tuple[int, list[tuple[Entry, list[Form]]]] | None = None
        """The value of `truncate_chars`, and the usual cuts of the results with it (`Forms`); None until a plan asks
        for the cuts."""
        self._shown: tuple[list[Cut | None], frozenset[str]] | None = None
        """The cuts that were asked for last, and the terms that the group shows with them; None if no cuts were asked
        for."""

    def is_of(self, group: Group) -> bool:
        """Return whether these facts are about a group and still true.

        They are if its messages are the very same objects.
        """
        known = self.group
        if known.head is not group.head:
            return False
        # The same head has the same calls, and a result, or None, for each of them.
        return not group.results or all(map(is_, known.results, group.results))

    def names_with(self, cuts: list[Cut | None], names_of: Callable[[Entry], Collection[str]]) -> frozenset[str]:
        """Return the terms that the group shows with some cuts. The answer for the last cuts is kept.

        Args:
            cuts: the cut of each message of the group; None for a message that is shown whole.
            names_of: returns the terms that a message shows with its cut.
        """
        if self._shown is None or self._shown[0] != cuts:
            self._shown = cuts, frozenset().union(*map(names_of, self.members))
        return self._shown[1]


def _written_tokens(head: Entry) -> int:
    """Estimate the number of tokens in the text that a person or the model wrote; 0 for other messages."""
    if not (head.human or head.role == "assistant"):
        return 0
    return sum(head.gist.terms.text_chars) // CHARS_A_TOKEN + head.reasoning.narration_tokens


def _worth_of_words(members: tuple[Entry, ...]) -> float:
    """Return the worth (0 to 1) of the plain words in a group's results: 1 if these are long, less if they are short.

    For a group without results, it is the worth of the words in its only message.
    """
    results = members[1:]
    chars = 0
    for entry in results or members:
        chars += sum(entry.gist.terms.text_chars)
        if chars >= FULL_WORTH_CHARS:
            return 1.0
    return chars / FULL_WORTH_CHARS
