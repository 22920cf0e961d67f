"""What importers yield: the events of a session in the order of its new log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..copy_log import Carried
from .account import Account
from .fields import session_name
from .tree import common_with

Message = dict[str, Any]
MOST_BRANCHES = 50
"""So many branches of a session are imported; the rest is named as lost."""

Kind = Literal["session", "branch", "subagent"]


@dataclass(slots=True)
class SessionStart:
    """A session begins; what follows, up to the next start, belongs to it.

    The first one is the session itself. `name` tells its branches and sub-agents apart, and is stable from one import
    to the next. `facts` go into the log's header; the importer may add to them until the next start.
    """

    kind: Kind = "session"
    name: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    source_id: str = ""
    """The id that the session has in the source; empty where it has none."""
    parent_source_id: str = ""
    """A sub-agent that is imported without its parent: the parent's id in the source."""
    forked_from: str = ""
    """A branch: the id of the last message that it has in common with its session."""


class MessageRead(NamedTuple):
    """A message. Its `metadata.message_id` is stable from one import to the next.

    `metadata.usage` of an answer is what its provider reported, by the names of `fields.usage_of`.
    """

    message: Message
    line: int = 0


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """The source compacted its history: from here on the model was given `summary`, what was kept, and what follows.

    `keep` are ids of earlier messages in order, `keep_runs` first and last ids of runs of them; `keep_from` is the
    first of them where all that follow were kept. Where nothing stands before it, the summary is a message of its own,
    with `message_id` and `time`.
    """

    summary: str
    line: int = 0
    message_id: str = ""
    time: Any = None
    keep: Sequence[str] = ()
    keep_runs: Sequence[tuple[str, str]] = ()
    keep_from: str = ""
    tokens_before: Any = None
    """As the source says it; what is no number is not believed."""


class Cleared(NamedTuple):
    """A person cleared the history: what stands before it is hidden, and the model sees what follows."""

    line: int
    time: Any = None


class Kept(NamedTuple):
    """An entry that is no message and is kept as it is, in a `source` record."""

    entry: Any
    line: int = 0
    kind: str = ""


Event = SessionStart | MessageRead | CompactionEvent | Cleared | Kept | Carried


class Branch(NamedTuple):
    """A branch that was left: its line, its name, what it has in common with the session, and what is its own."""

    line: int
    name: str
    common: Iterable[Event]
    own: Iterable[Event]


def tree_branches(
    left: Iterable[int],
    roots: Sequence[int],
    parents: Sequence[int],
    begin: Callable[[int], tuple[int, str]],
    events: Callable[[Sequence[int]], Iterable[Event]],
) -> Iterator[Branch]:
    """The branches of a session that is a tree.

    Args:
        left: their roots.
        roots: for each entry the root of its branch, as `tree.branches_of` gives them.
        parents: the index of each entry's parent.
        begin: gives the line and the id of a branch's first entry.
        events: gives what some entries stand for.
    """
    for root in left:
        line, first_id = begin(root)
        own = [at for at, other in enumerate(roots) if other == root]
        yield Branch(line, session_name(first_id), events(common_with(root, roots, parents)), events(own))


def branches(found: Iterable[Branch], account: Account, facts: Mapping[str, Any], source_id: str) -> Iterator[Event]:
    """The sessions of branches; each names the last message that it has in common with the session that it left.

    Args:
        found: the branches.
        account: told of those that are too many.
        facts: of the session that they left.
        source_id: its id.
    """
    for number, one in enumerate(found):
        if number >= MOST_BRANCHES:
            account.lose_part(one.line, f"a branch; at most {MOST_BRANCHES} are imported")
            continue
        start = SessionStart("branch", one.name or f"line{one.line}", dict(facts), source_id)
        yield start
        for event in one.common:
            if isinstance(event, MessageRead):
                start.forked_from = event.message["metadata"]["message_id"]
            yield event
        yield from one.own
