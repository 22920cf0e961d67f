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

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, excerpt_cut, prose_cut
from ..messages.tool_kinds import TODO
from ..view.entry import Entry
from .draft import MARKER_TOKENS, Draft


class Stage(IntEnum):
    """The stages of a choice, in order; each takes only as much as is needed."""

    FREE = 0
    """Groups without a promise, the smallest loss first."""
    RECENT = 1
    """Recent groups, the smallest loss first."""
    SHORTEN = 2
    """Results that are held are shortened, the largest first."""
    ANSWERS = 3
    """The last words of turns are shortened, the largest first."""
    TEXTS = 4
    """Long messages of people are shortened, the largest first."""
    PEOPLE = 5
    """People's messages with their answers, the oldest first."""
    HELD = 6
    """Groups with a promise, the oldest first; the first person's message last."""
    LAST = 7
    """Anything is shortened, the largest first."""
    NEVER = 8


STEPS = {
    Stage.FREE: 3,
    Stage.RECENT: 4,
    Stage.SHORTEN: 4,
    Stage.ANSWERS: 4,
    Stage.TEXTS: 4,
    Stage.PEOPLE: 5,
    Stage.HELD: 5,
    Stage.LAST: 6,
}
"""The number of each stage in a plan's record."""


class Hold(NamedTuple):
    """The stages from which on one group may be left out and cut, as one promise has it."""

    position: int
    leave: Stage
    """From here on it may be left out."""
    cut: Stage = Stage.FREE
    """From here on its results, or the prose of a text without calls, may be cut."""
    to: Cut | None = None
    """The only cut, if its results, or without any its text, have one."""


class Promise(NamedTuple):
    """A promise with its name and its sentence."""

    name: str
    says: str
    holds: Callable[[Draft], Iterable[Hold]]


# Shares of the room, which is the part of the target that plans can take from.
FIRST_SHARE = 0.25  # for the first message of the conversation, whole
WORDS_SHARE = 0.4  # for other words of people
ANSWERS_SHARE = 0.5  # for the last words of turns: at 20,000 tokens fifty turns keep what was concluded
LONG_SHARE = 0.3  # for them, as long as they can be cut further
# Measured: docs/experiments.md ("Two shares that bound what is held", and with those below "Constants of the choice").
INTERRUPTED_SHARE = 0.25  # for the words of turns that were interrupted
CALLS_SHARE = 0.25  # for the messages that called for the newest results, which no cut makes shorter

LEAST_SAVED = 200  # tokens; nothing is taken from a person's words for less, and no shorter answer is cut
LEAST_OF_ANSWER = 100  # no answer is cut to save less: what stays of it and the marker take as much
ANSWER_CUTS = ((800, 700), (420, 300), (240, 160))  # characters of head and end; the first that fits the share
CHARS_A_TOKEN = 4  # about, of prose


def what_stays(draft: Draft) -> Iterator[Hold]:
    """Hold system text, pins, the newest person's message, open calls and the newest group."""
    view = draft.view
    for position in draft.fixed:
        group = view.groups[position]
        whole = group.pinned or group.head.instructs or position == view.turn
        yield Hold(position, Stage.NEVER, Stage.NEVER if whole else Stage.SHORTEN)


def newest_of_hooks(draft: Draft) -> Iterator[Hold]:
    """The last system text of each hook."""
    return (Hold(position, Stage.HELD, Stage.LAST) for position in draft.view.newest_of_hooks)


def first_message(draft: Draft) -> Iterator[Hold]:
    """Hold the first person's message: whole up to a share of the room, beyond it by paragraphs."""
    first = draft.view.first_person
    if first is None or first == draft.view.turn:
        return
    most = int(FIRST_SHARE * draft.room_tokens)
    if draft.prose_tokens(first) <= most:
        yield Hold(first, Stage.HELD, Stage.LAST)
    else:
        cut = draft.words_cut(draft.view.groups[first].head, most * CHARS_A_TOKEN)
        yield Hold(first, Stage.HELD, Stage.FREE, cut)


def peoples_words(draft: Draft) -> Iterator[Hold]:
    """Hold other words of people up to a share of the room, the newest first; long ones beyond it are shortened."""
    left, short = int(WORDS_SHARE * draft.room_tokens), LEAST_SHOWN_CHARS // CHARS_A_TOKEN
    for position in reversed(draft.view.people):
        if position in (draft.view.first_person, draft.view.turn):
            continue
        tokens = draft.prose_tokens(position)
        if tokens <= left:
            left -= tokens
            yield Hold(position, leave=Stage.PEOPLE, cut=Stage.TEXTS)
        elif tokens >= LEAST_SAVED + short:
            left = max(0, left - short)
            leave = Stage.PEOPLE if left > 0 else Stage.FREE
            only_cut = draft.words_cut(draft.view.groups[position].head, LEAST_SHOWN_CHARS)
            yield Hold(position, leave=leave, cut=Stage.FREE, to=only_cut)
        else:
            yield Hold(position, leave=Stage.FREE, cut=Stage.LAST)


def recent_share(draft: Draft) -> Iterator[Hold]:
    """The newest share of the target's tokens."""
    return (Hold(position, Stage.RECENT, Stage.RECENT) for position in range(recent_start(draft), len(draft.view)))


def recent_start(draft: Draft) -> int:
    """The first group of the newest ones, which together have `protected_recent` of the target's tokens."""
    newest_first = draft.left()[::-1]
    sums = accumulate(draft.sizes[position] for position in newest_first)
    most = draft.config.protected_recent * draft.room_tokens
    return next((at + 1 for at, tokens in zip(newest_first, sums, strict=True) if tokens > most), 0)


def newest_results(draft: Draft) -> Iterator[Hold]:
    """The groups of the newest results: the newest always, others if their calls fit into `CALLS_SHARE` of the room."""
    room = int(CALLS_SHARE * draft.room_tokens)
    spared = draft.config.protected_tool_results
    for number, position in enumerate(newest_groups(draft)):
        room -= draft.tokens_of(draft.view.groups[position].head)
        late = Stage.RECENT if spared else Stage.FREE
        yield Hold(position, Stage.HELD if number == 0 or room >= 0 else Stage.FREE, late)


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


def start_of_turn(draft: Draft) -> Iterator[Hold]:
    """The first groups after the newest person's message, up to a result: the result can mark a gap there."""
    view = draft.view
    start = len(view) if view.turn is None else view.turn + 1
    marking = next((position for position in range(start, len(view)) if view.takes_line(position)), None)
    if marking is not None:
        yield from (Hold(position, Stage.HELD) for position in range(start, marking + 1))


def list_of_what_to_do(draft: Draft) -> Iterator[Hold]:
    """The newest list of what to do."""
    groups = draft.view.groups
    lists = [p for p in draft.view.calling if any(use.kind == TODO for use in groups[p].head.gist.uses)]
    return (Hold(position, Stage.HELD) for position in lists[-1:])


def last_words(draft: Draft) -> Iterator[Hold]:
    """Hold the last words of finished turns; long ones with their head and their end, the newest one whole."""
    view = draft.view
    positions = [p for p in view.answers.values() if draft.kept[p] and p not in draft.fixed]
    cut, shortened = _answer_cut(draft, positions)
    spare = draft.target_tokens - draft.total_tokens + sum([draft.sizes[p] for p in positions])
    excess = sum(shortened.values()) - max(spare, int(ANSWERS_SHARE * draft.room_tokens))
    newest = view.answers.get(view.people[-2]) if len(view.people) > 1 else None
    for number, position in enumerate(positions):
        if position == newest:
            yield Hold(position, Stage.NEVER, Stage.ANSWERS)
        elif excess > 0 and number % 2 == 0:  # of two in succession one is held
            excess -= shortened[position]
        elif shortened[position] < draft.sizes[position]:
            yield Hold(position, Stage.PEOPLE, Stage.FREE, cut)
        else:
            yield Hold(position, Stage.PEOPLE, Stage.LAST)


def _answer_cut(draft: Draft, positions: Sequence[int]) -> tuple[Cut, dict[int, int]]:
    """The longest cut of answers with which all of them take no more than their share.

    Returns:
        The cut; and by position the tokens of the answer after shortening. Of an answer that is not long, or is cut
        already, the tokens are those that it has.
    """
    whole_tokens = {position: draft.sizes[position] for position in positions}
    heads = {position: draft.view.groups[position].head for position in positions}
    long = [
        position
        for position, tokens in whole_tokens.items()
        if tokens >= LEAST_SAVED and heads[position].id not in draft.cuts
    ]
    for head_chars, tail_chars in ANSWER_CUTS:
        cut = prose_cut(head_chars, tail_chars)
        tokens_after = dict(whole_tokens)
        for position in long:
            head = heads[position]
            tokens = head.tokens * cut.shown_chars // max(1, sum(head.gist.terms.text_chars))
            if whole_tokens[position] - tokens >= LEAST_OF_ANSWER:
                tokens_after[position] = tokens
        if sum(tokens_after.values()) <= LONG_SHARE * draft.room_tokens:
            break
    return cut, tokens_after


def interrupted_turns(draft: Draft) -> Iterator[Hold]:
    """One text of the model from each two successive turns whose final answer is not kept.

    The texts are chosen from the oldest turn on, so that a later plan chooses the same ones. If they do not fit, the
    oldest get no promise.
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
    room = int(INTERRUPTED_SHARE * draft.room_tokens)
    for cost, position in reversed(chosen):
        room -= cost
        if room < 0:
            return
        yield Hold(-position, Stage.HELD, to=excerpt_cut(0) if view.groups[-position].results else None)


def _least_tokens(members: Sequence[Entry]) -> int:
    """The tokens of a group with its results cut to nothing."""
    head, *results = members
    return head.tokens - head.reasoning.tokens + sum([min(result.tokens, MARKER_TOKENS) for result in results])


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
        "first message",
        "The first person's message stays whole up to a quarter of the room; beyond that by its paragraphs.",
        first_message,
    ),
    Promise(
        "people's words",
        "Other messages of people stay whole up to 0.4 of the room, the newest first, and go with their answers; "
        "beyond that long ones are shortened, and then they go like anything else.",
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
        "The last words of finished turns stay, the newest whole, long ones with their beginning and their end.",
        last_words,
    ),
    Promise("interrupted turns", "Of two turns without last words something that was said stays.", interrupted_turns),
)
