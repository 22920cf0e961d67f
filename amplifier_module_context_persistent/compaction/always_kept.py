"""Promises: what a view keeps of a session, each one pure function over a draft in which everything is kept.

A promise *holds* groups: it says from which stage of the choice on a group may be left out, and from which on its texts
may be cut. Of several promises for one group the strictest counts. A group that none holds is free: it goes, or is cut,
by what loses least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, word_cut_for
from ..messages.tool_kinds import TODO
from ..view.entry import Entry
from .draft import MARKER_TOKENS, Draft


class Stage(IntEnum):
    """The classes of what a choice may take, in their order; each only as far as it is needed."""

    FREE = 0
    """What loses least."""
    TEXTS = 1
    """Long messages of people are shortened."""
    RECENT = 2
    """What is recent, by what loses least."""
    SHORTEN = 3
    """Results that are held are shortened, the largest first."""
    PEOPLE = 4
    """People's messages with their answers, the oldest first."""
    HELD = 5
    """What is held, the oldest first."""
    LAST = 6
    """Anything is shortened, the largest first."""
    NEVER = 7


STEPS = {
    Stage.FREE: 3,
    Stage.TEXTS: 4,
    Stage.RECENT: 5,
    Stage.SHORTEN: 5,
    Stage.PEOPLE: 5,
    Stage.HELD: 5,
    Stage.LAST: 6,
}
"""By stage, the number that a plan's record has for it."""


class PinHold(NamedTuple):
    """What a promise says of one group."""

    position: int
    leave: Stage
    """From here on it may be left out."""
    cut: Stage = Stage.FREE
    """From here on its results, or a person's text, may be cut."""
    to: Cut | None = None
    """The only cut, where its results, or without any its text, have one."""


class Promise(NamedTuple):
    """A promise with its name and its sentence."""

    name: str
    says: str
    holds: Callable[[Draft], Iterable[PinHold]]


WORDS_SHARE = 0.45  # of the target, for people's messages with their answers, and for last words
INTERRUPTED_SHARE = 0.25  # of the target, for what was said in turns that were interrupted
LATE_SHARE = 0.2  # of the target, for people's newest messages, which are cut only after all that no promise holds
ANSWER_CHARS = 280  # of the head of last words,
ANSWER_END_CHARS = 80  # and of their end, where that asks what the next person answers
CALLS_SHARE = 0.25  # of the target, for the messages that called for the newest results, which no cut makes shorter


def what_stays(draft: Draft) -> Iterator[PinHold]:
    """System text, pins, the newest person's message, open calls and the newest group."""
    view = draft.view
    for position in draft.fixed:
        group = view.groups[position]
        whole = group.pinned or group.head.instructs or position == view.turn
        yield PinHold(position, Stage.NEVER, Stage.NEVER if whole else Stage.SHORTEN)


def newest_of_hooks(draft: Draft) -> Iterator[PinHold]:
    """What each hook added last as system text."""
    return (PinHold(position, Stage.HELD, Stage.LAST) for position in draft.view.of_hooks[0])


def peoples_words(draft: Draft) -> Iterator[PinHold]:
    """Every message of a person: the newest are cut late, long older ones early; old ones go, but not the first."""
    late, held, short = int(LATE_SHARE * draft.target_tokens), int(WORDS_SHARE * draft.target_tokens), ANSWER_CHARS // 4
    for position in reversed(draft.view.people):
        size, answer = draft.sizes[position], draft.view.answers.get(position)
        late -= size
        is_cut = late < 0 and draft.chars_of(draft.view.groups[position].head) > LEAST_SHOWN_CHARS
        held -= min(size, short) if is_cut else size
        held -= 0 if answer is None else min(draft.sizes[answer], short)
        leave = Stage.PEOPLE if held >= 0 or position == draft.view.people[0] else Stage.FREE
        yield PinHold(position, leave, *((Stage.FREE, word_cut_for(LEAST_SHOWN_CHARS)) if is_cut else (Stage.TEXTS,)))


def recent_share(draft: Draft) -> Iterator[PinHold]:
    """The newest share of the target's tokens."""
    return (PinHold(position, Stage.RECENT, Stage.RECENT) for position in range(recent_start(draft), len(draft.view)))


def recent_start(draft: Draft) -> int:
    """Where the newest `protected_recent` of the target's tokens begins."""
    newest_first = draft.left()[::-1]
    sums = accumulate(draft.sizes[position] for position in newest_first)
    most = draft.config.protected_recent * draft.target_tokens
    return next((at + 1 for at, tokens in zip(newest_first, sums, strict=True) if tokens > most), 0)


def newest_results(draft: Draft) -> Iterator[PinHold]:
    """The groups of the newest results: the newest one, and others while their calls take little."""
    room = int(CALLS_SHARE * draft.target_tokens)
    spared = draft.config.protected_tool_results
    for number, position in enumerate(newest_groups(draft)):
        room -= draft.tokens_of(draft.view.groups[position].head)
        late = Stage.RECENT if spared else Stage.FREE
        yield PinHold(position, Stage.HELD if number == 0 or room >= 0 else Stage.FREE, late)


def newest_groups(draft: Draft) -> list[int]:
    """The groups with the newest `protected_tool_results` results that may be touched at all, the newest first."""
    found: list[int] = []
    left = max(1, draft.config.protected_tool_results)
    for position in reversed(draft.view.calling):
        results = len(draft.view.members[position]) - 1
        if draft.kept[position] and results and not draft.view.groups[position].pinned:
            if position not in draft.fixed:
                found.append(position)
            left -= results
            if left <= 0:
                break
    return found


def start_of_turn(draft: Draft) -> Iterator[PinHold]:
    """What comes first after the newest person's message, up to a result: it marks a gap there."""
    view = draft.view
    start = len(view) if view.turn is None else view.turn + 1
    marking = next((position for position in range(start, len(view)) if view.takes_line(position)), None)
    if marking is not None:
        yield from (PinHold(position, Stage.HELD) for position in range(start, marking + 1))


def list_of_what_to_do(draft: Draft) -> Iterator[PinHold]:
    """The newest list of what to do."""
    groups = draft.view.groups
    lists = [p for p in draft.view.calling if any(use.kind == TODO for use in groups[p].head.uses)]
    return (PinHold(position, Stage.HELD) for position in lists[-1:])


def last_words(draft: Draft) -> Iterator[PinHold]:
    """The last words of finished turns, shortened to a paragraph, and their end where it asks something."""
    positions = [p for p in draft.view.answers.values() if draft.kept[p] and p not in draft.fixed]
    cuts = [_answer_cut(draft.view.groups[position].head) for position in positions]
    sizes = [_answer_tokens(draft, position, cut) for position, cut in zip(positions, cuts, strict=True)]
    spare = draft.target_tokens - draft.total_tokens + sum([draft.sizes[p] for p in positions])
    excess = sum(sizes) - max(spare, int(WORDS_SHARE * draft.target_tokens))
    for number, (position, cut) in enumerate(zip(positions, cuts, strict=True)):
        if excess > 0 and number % 2 == 0 and position != positions[-1]:  # of two in succession one is held
            excess -= sizes[number]
        elif draft.chars_of(draft.view.groups[position].head) > cut.head_chars + cut.tail_chars:
            yield PinHold(position, Stage.HELD, Stage.FREE, cut)
        else:
            yield PinHold(position, Stage.HELD, Stage.LAST)


def _brief(head_chars: int, tail_chars: int) -> Cut:
    return Cut(head_chars, tail_chars, whole_words=True, brief=True, whole_characters=True)


def _answer_cut(head: Entry) -> Cut:
    """What last words keep: their head, and their end where it asks something."""
    return _brief(ANSWER_CHARS, ANSWER_END_CHARS if head.asks else 0)


def _answer_tokens(draft: Draft, position: int, cut: Cut) -> int:
    """What last words come to, cut; those that are cut already stay so."""
    head = draft.view.groups[position].head
    chars, shown = sum(head.terms.text_chars), cut.head_chars + cut.tail_chars
    if head.id in draft.cuts or chars <= shown:
        return draft.sizes[position]
    return head.tokens * shown // chars + MARKER_TOKENS


def interrupted_turns(draft: Draft) -> Iterator[PinHold]:
    """Something that was said in one of two turns in succession without last words that are held.

    They are chosen from the oldest turn on, so that a later plan chooses the same again; where they do not fit, the
    oldest are not held.
    """
    view = draft.view
    answered = {hold.position for hold in last_words(draft)} | draft.fixed
    chosen: list[tuple[int, int]] = []
    alone = False
    for start, end in pairwise(view.people):
        if view.groups[start].head.ordinal + 1 == view.groups[end].head.ordinal:  # nobody spoke between them
            continue
        is_alone = view.answers.get(start) not in answered
        said = [p for p in range(start + 1, end) if view.speaks(p)]
        if alone and is_alone and said:
            chosen.append(min((_least_tokens(view.members[position]), -position) for position in said))
            is_alone = False
        alone = is_alone
    room = int(INTERRUPTED_SHARE * draft.target_tokens)
    for cost, position in reversed(chosen):
        room -= cost
        if room < 0:
            return
        yield PinHold(-position, Stage.HELD, to=_brief(0, 0) if view.groups[-position].results else None)


def _least_tokens(members: Sequence[Entry]) -> int:
    """What a group comes to with its results cut to nothing."""
    head, *results = members
    return head.tokens - head.thinking_tokens + sum([min(result.tokens, MARKER_TOKENS) for result in results])


PROMISES = (
    Promise(
        "what stays",
        "System text, pins, protected ends, the newest message of a person, calls without results and the newest group "
        "stay; of these only results are ever shortened, and only when there is nothing else.",
        what_stays,
    ),
    Promise(
        "newest of hooks", "What each hook added last as system text stays; earlier ones go first.", newest_of_hooks
    ),
    Promise(
        "people's words",
        "A person's message is shortened before it goes, and goes with its answer; what is older than 0.45 of the "
        "target holds goes like anything else, but for the first.",
        peoples_words,
    ),
    Promise("recent", "The newest `protected_recent` of the target is touched after what is older.", recent_share),
    Promise(
        "newest results", "The newest `protected_tool_results` results are shortened, not left out.", newest_results
    ),
    Promise("start of the turn", "What follows the newest message of a person, up to a result, stays.", start_of_turn),
    Promise("what to do", "The newest list of what to do stays.", list_of_what_to_do),
    Promise(
        "last words",
        "The last words of a finished turn stay, shortened to a paragraph, with the end where it asks something.",
        last_words,
    ),
    Promise("interrupted turns", "Of two turns without last words something that was said stays.", interrupted_turns),
)
