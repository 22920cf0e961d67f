"""Promises: rules about what a view keeps of a session.

Each promise is a pure function over a draft (the view in the making) in which everything is kept. It yields holds on
groups; a group is a message with the results of its calls. The choice of what to leave out and cut has stages, and a
later stage starts only if the earlier ones do not make the view small enough. A hold gives the first stage at which a
group may be left out, and the first stage at which its texts may be cut. If several promises hold a group, the latest
stages count. A group without a hold may be left out or cut at the first stage, the smallest loss first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, excerpt_cut
from ..messages.tool_kinds import TODO
from ..view.entry import Entry
from .draft import MARKER_TOKENS, Draft


class Stage(IntEnum):
    """The stages of a choice, in order. Each stage stops as soon as the view is small enough."""

    FREE = 0
    """Groups without a promise are left out or cut, the smallest loss first."""
    RECENT = 1
    """Recent groups (`recent_share`) are left out or cut, the smallest loss first."""
    SHORTEN = 2
    """Results are shortened, also in groups with a promise, the largest first."""
    ANSWERS = 3
    """The final answers of turns are shortened, the largest first."""
    TEXTS = 4
    """Long messages of people are shortened, the largest first."""
    SECOND_ANSWERS = 5
    """Every second final answer is left out, the oldest first. What people wrote stays."""
    PEOPLE = 6
    """People's messages are left out with their answers, the oldest first."""
    HELD = 7
    """Groups with a promise are left out, the oldest first, and the first message of a person last."""
    LAST = 8
    """Texts of any kind are shortened, the largest first."""
    NEVER = 9
    """A hold with this number is never lifted. It is no stage of the choice."""


STEPS = {
    Stage.FREE: 3,
    Stage.RECENT: 4,
    Stage.SHORTEN: 4,
    Stage.ANSWERS: 4,
    Stage.TEXTS: 4,
    Stage.SECOND_ANSWERS: 5,
    Stage.PEOPLE: 5,
    Stage.HELD: 5,
    Stage.LAST: 6,
}
"""The number that a plan's record has for each stage."""


class Hold(NamedTuple):
    """The first stage at which a plan may leave out a group of messages, and the first stage at which it may cut it."""

    position: int
    leave: Stage
    """The first stage at which the group may be left out."""
    cut: Stage = Stage.FREE
    """The first stage at which its results, or the prose of a message without calls, may be cut."""
    shortest_cut: Cut | None = None
    """The shortest cut of its results before the stages that only shorten texts; None if the usual cuts are allowed.

    In a group without results this is the only cut of the message. If it is None there, only pasted bodies are cut
    before these stages.
    """


class Promise(NamedTuple):
    """A rule about what a view keeps, such as "the newest to-do list stays". Its holds say which groups it spares."""

    name: str
    says: str
    holds: Callable[[Draft], Iterable[Hold]]


# Shares of the room, which is the part of the target that plans can fill.
FIRST_SHARE = 0.25  # for the first message of a person; a larger one is cut
WORDS_SHARE = 0.4  # for the other messages of people
ANSWERS_SHARE = 0.5  # for the final answers of turns: at 20,000 tokens fifty turns keep what was concluded
LONG_SHARE = 0.3  # for the final answers too, as long as the long ones can be cut further
# Measured: docs/experiments.md ("Two shares that bound what is held", and with those below "Constants of the choice").
INTERRUPTED_SHARE = 0.25  # for the model's texts in turns that were interrupted
CALLS_SHARE = 0.25  # for the calls of the newest results, which cannot be cut

LEAST_SAVED = 200  # tokens that a cut of a person's message has to save; shorter answers are not cut
LEAST_OF_ANSWER = 100  # tokens that a cut of an answer has to save: the shown part and the marker cost as much
ANSWER_CHARS = (1_500, 720, 480)  # of a long answer that stay; the first number with which all answers fit is used
CHARS_A_TOKEN = 4  # approximately, in prose


def what_stays(draft: Draft) -> Iterator[Hold]:
    """Hold system text, pins, the newest message of a person, open calls and the newest group."""
    view = draft.view
    for position in draft.fixed:
        group = view.groups[position]
        whole = view.facts[position].is_pinned or group.head.instructs or position == view.turn
        yield Hold(position, Stage.NEVER, Stage.NEVER if whole else Stage.SHORTEN)


def newest_of_hooks(draft: Draft) -> Iterator[Hold]:
    """Hold the last system message of each hook."""
    return (Hold(position, Stage.HELD, Stage.LAST) for position in draft.view.newest_of_hooks)


def first_message(draft: Draft) -> Iterator[Hold]:
    """Hold the first message of a person.

    If the message is larger than `FIRST_SHARE` of the room, it is cut at paragraphs.
    """
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
    """Hold the messages of people, except the first and the newest message: other promises hold these two messages.

    Together they may take `WORDS_SHARE` of the room. First, from the newest on, short messages get room for all their
    words, and each long message for its shortest cut. What is left of the room shows long messages whole, from the
    newest on. Of the messages that do not fit, long ones may be shortened at the first stage, and short ones may be
    left out.
    """
    view = draft.view
    others = [position for position in reversed(view.people) if position not in (view.first_person, view.turn)]
    tokens = {position: draft.prose_tokens(position) for position in others}
    shortest_tokens = LEAST_SHOWN_CHARS // CHARS_A_TOKEN
    long = [position for position in others if tokens[position] >= LEAST_SAVED + shortest_tokens]
    least_tokens = tokens | dict.fromkeys(long, shortest_tokens)

    left = int(WORDS_SHARE * draft.room_tokens)
    shown_positions = set[int]()
    for position in others:
        if least_tokens[position] <= left:
            left -= least_tokens[position]
            shown_positions.add(position)
    for position in others:
        more_tokens = tokens[position] - least_tokens[position]
        if position in shown_positions and more_tokens <= left:
            left -= more_tokens
            yield Hold(position, leave=Stage.PEOPLE, cut=Stage.TEXTS)
        elif position in long:
            leave = Stage.PEOPLE if position in shown_positions else Stage.FREE
            only_cut = draft.words_cut(view.groups[position].head, LEAST_SHOWN_CHARS)
            yield Hold(position, leave, cut=Stage.FREE, shortest_cut=only_cut)
        else:
            yield Hold(position, leave=Stage.FREE, cut=Stage.LAST)


def recent_share(draft: Draft) -> Iterator[Hold]:
    """Hold the newest groups, up to `protected_recent` of the room."""
    return (Hold(position, Stage.RECENT, Stage.RECENT) for position in range(recent_start(draft), len(draft.view)))


def recent_start(draft: Draft) -> int:
    """Return the position of the first of the newest groups that together have at most `protected_recent` of the room.

    Return 0 if all kept groups fit.
    """
    newest_first = draft.kept_positions()[::-1]
    most_tokens = draft.config.protected_recent * draft.room_tokens
    tokens = 0
    for position in newest_first:
        tokens += draft.sizes[position]
        if tokens > most_tokens:
            return position + 1
    return 0


def newest_results(draft: Draft) -> Iterator[Hold]:
    """Hold groups with results: always the newest, and the next newest while their calls fit into `CALLS_SHARE`."""
    room = int(CALLS_SHARE * draft.room_tokens)
    spared = draft.config.protected_tool_results
    for number, position in enumerate(groups_of_newest_results(draft)):
        room -= draft.tokens_of(draft.view.groups[position].head)
        late = Stage.RECENT if spared else Stage.FREE
        is_held = number == 0 or room >= 0
        leave = Stage.HELD if is_held else Stage.FREE
        yield Hold(position, leave, late)


def groups_of_newest_results(draft: Draft) -> list[int]:
    """Return the positions of the groups with the newest `protected_tool_results` results, the newest first.

    Results in groups that must stay (`Draft.fixed`) are counted, but these groups are not returned. Pinned groups and
    groups that are left out are not counted.
    """
    found: list[int] = []
    left = max(1, draft.config.protected_tool_results)
    for position in reversed(draft.view.calling):
        results = len(draft.view.members[position]) - 1
        if draft.kept[position] and results and not draft.view.facts[position].is_pinned:
            if position not in draft.fixed:
                found.append(position)
            left -= results
            if left <= 0:
                break
    return found


def start_of_turn(draft: Draft) -> Iterator[Hold]:
    """Hold the first groups after the newest message of a person, up to the first group that ends with a result.

    A gap after these groups can then be marked at the end of that result.
    """
    view = draft.view
    start = len(view) if view.turn is None else view.turn + 1
    marking = next((position for position in range(start, len(view)) if view.facts[position].takes_line), None)
    if marking is not None:
        yield from (Hold(position, Stage.HELD) for position in range(start, marking + 1))


def list_of_what_to_do(draft: Draft) -> Iterator[Hold]:
    """Hold the group with the newest to-do list."""
    for position in reversed(draft.view.calling):
        if TODO in draft.view.facts[position].kinds:
            yield Hold(position, Stage.HELD)
            return


def last_words(draft: Draft) -> Iterator[Hold]:
    """Hold the final answers of finished turns. The newest is held whole; long older ones may be cut.

    A cut keeps the head and the tail. The answers may take `ANSWERS_SHARE` of the room, or the free room if this is
    more. If they need more, every second answer loses its hold, the oldest first, until the others fit.
    """
    answers = _held_answers(draft)
    second = _second_answers(draft, answers.tokens.keys())
    for position, tokens in answers.tokens.items():
        leave = Stage.SECOND_ANSWERS if position in second else Stage.PEOPLE
        is_shortened = tokens < draft.sizes[position]
        if position == answers.newest:
            yield Hold(position, leave=Stage.NEVER, cut=Stage.ANSWERS)
        elif is_shortened:
            answer_cut = draft.words_cut(draft.view.groups[position].head, answers.keep_chars)
            yield Hold(position, leave, cut=Stage.FREE, shortest_cut=answer_cut)
        else:
            yield Hold(position, leave, cut=Stage.LAST)


class _HeldAnswers(NamedTuple):
    """The final answers that `last_words` holds."""

    tokens: dict[int, int]
    """The tokens of each answer after shortening, by position."""
    keep_chars: int
    """The number of characters that long answers keep."""
    newest: int | None
    """The position of the final answer of the newest finished turn; None if that turn has none."""


def _held_answers(draft: Draft) -> _HeldAnswers:
    """Choose the final answers that are held, and how long they may be (see `last_words`)."""
    view = draft.view
    positions = [position for position in view.answers.values() if draft.kept[position] and position not in draft.fixed]
    keep_chars, shortened = _answer_chars(draft, positions)
    whole_tokens = sum([draft.sizes[position] for position in positions])
    free_tokens = draft.usual_target_tokens - draft.total_tokens + whole_tokens  # if no answer were in the view
    room_tokens = max(free_tokens, int(ANSWERS_SHARE * draft.room_tokens))
    excess_tokens = sum(shortened.values()) - room_tokens
    newest = None
    if len(view.people) > 1:
        last_finished_turn = view.people[-2]
        newest = view.answers.get(last_finished_turn)
    may_go = positions[::2]  # so one of two successive answers is still held
    for position in may_go:
        if position != newest and excess_tokens > 0:
            excess_tokens -= shortened.pop(position)
    return _HeldAnswers(shortened, keep_chars, newest)


def _second_answers(draft: Draft, held: Set[int]) -> set[int]:
    """Return every second one of the held answers of successive turns; none if the number of messages is limited.

    Without these answers, still no three messages of people are adjacent. A later plan chooses the same answers: the
    turn after one whose answer is gone keeps its own answer. If the number of messages is limited, nothing would be
    gained: the marker in an answer's place is a message too.

    Args:
        draft: the view in the making.
        held: the positions of the answers that are held.
    """
    found = set[int]()
    if draft.config.max_messages is not None:
        return found
    is_answered_before = False
    for person in draft.view.people:
        answer = draft.view.answers.get(person, -1)
        is_answered = answer in held
        if is_answered and is_answered_before:
            found.add(answer)
            is_answered = False
        is_answered_before = is_answered
    return found


def _answer_chars(draft: Draft, positions: Sequence[int]) -> tuple[int, dict[int, int]]:
    """Choose the largest length of long answers with which all answers fit into `LONG_SHARE` of the room.

    If no length in `ANSWER_CHARS` is small enough, the smallest is chosen.

    Returns:
        The length in characters, and the tokens of each answer after shortening, by position. An answer keeps its
        current tokens if it is short, is cut already, or would save fewer than `LEAST_OF_ANSWER` tokens.
    """
    whole_tokens = {position: draft.sizes[position] for position in positions}
    heads = {position: draft.view.groups[position].head for position in positions}
    long = [
        position
        for position, tokens in whole_tokens.items()
        if tokens >= LEAST_SAVED and heads[position].id not in draft.cuts
    ]
    for keep_chars in ANSWER_CHARS:
        tokens_after = dict(whole_tokens)
        for position in long:
            head = heads[position]
            tokens = head.tokens * keep_chars // max(1, sum(head.gist.terms.text_chars))
            if whole_tokens[position] - tokens >= LEAST_OF_ANSWER:
                tokens_after[position] = tokens
        if sum(tokens_after.values()) <= LONG_SHARE * draft.room_tokens:
            break
    return keep_chars, tokens_after


def interrupted_turns(draft: Draft) -> Iterator[Hold]:
    """Hold one text of the model for each two successive turns whose final answers are not kept.

    The turns are paired from the oldest on, so that a later plan chooses the same texts. If the texts do not fit into
    `INTERRUPTED_SHARE` of the room, the oldest texts are not held.
    """
    view = draft.view
    answered = _held_answers(draft).tokens.keys() | draft.fixed
    chosen_tokens = dict[int, int]()
    is_open_before = False
    for start, end in pairwise(view.people):
        has_messages_between = view.groups[start].head.ordinal + 1 != view.groups[end].head.ordinal
        if not has_messages_between:
            continue
        is_open = view.answers.get(start) not in answered
        speakers = view.speaking[bisect_right(view.speaking, start) : bisect_left(view.speaking, end)]
        is_pair = is_open_before and is_open and len(speakers) > 0
        if is_pair:
            tokens = {position: _least_tokens(view.members[position]) for position in speakers}
            shortest = min(reversed(speakers), key=tokens.__getitem__)  # the newest of several
            chosen_tokens[shortest] = tokens[shortest]
        is_open_before = is_open and not is_pair
    room_tokens = int(INTERRUPTED_SHARE * draft.room_tokens)
    for position in reversed(chosen_tokens):
        room_tokens -= chosen_tokens[position]
        if room_tokens < 0:
            return
        results_cut = excerpt_cut(0) if view.groups[position].results else None
        yield Hold(position, leave=Stage.HELD, shortest_cut=results_cut)


def _least_tokens(members: Sequence[Entry]) -> int:
    """Return the tokens of a group without its thinking and with each result cut to its marker."""
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
        "Other messages of people stay whole up to 0.4 of the room, the short ones first, then the newest, and go with "
        "their answers; beyond that long ones are shortened, and then they go like anything else.",
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
        "The last words of finished turns stay, the newest whole, long ones with their beginning, their end and the "
        "items of their lists; every second one goes before people's words do.",
        last_words,
    ),
    Promise("interrupted turns", "Of two turns without last words something that was said stays.", interrupted_turns),
)
