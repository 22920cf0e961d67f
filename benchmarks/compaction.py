"""Compaction policies against each other: sessions are played message by message, with a request before each answer.

    python -m benchmarks.compaction [--budgets 20000 40000 80000] [--policy NAME ...] [--fast]
                                    [--transcripts DIRECTORY] [--seeds N] [--tokenizer NAME] [--json FILE]
                                    [--means 36000 38000 40000 42000 44000]

The sessions are the `*.jsonl` files of the directory (left out with a note where there are none) and seeded ones of
`fixtures.generate` at natural sizes. Of each session, budget and policy it prints:

- `req`: requests, one before each assistant message; `ref`: those that the policy refused;
- `inv`: views that `tests.support.checker` finds invalid (of no compaction only the last is checked); `over`: views
  over the budget, counted by what the first line says;
- `brk`: views that are not their predecessor plus appended messages; `max`: the most that a policy with two watermarks
  may make: 1 + appended tokens / ((`compact_threshold` - `target_usage`) x budget);
- `cached`: tokens in the longest common prefix of whole messages with the request before, over the requests' tokens;
- `billed`: uncached x 1.25 + cached x 0.1, as a ratio to that of no compaction; requests for summaries count, and
  their answers x 5 (a stand-in for the provider answers them, so what `summarize` keeps in view is not told by `far`);
- `far`: the share of far evidence (the package's `evidence.py` defines it) that stands in the view's original text,
  over all actions of the session; `+ins`: what the inserted text adds to it;
- `recov`: the share of far evidence that stands in the original text or is on the first page that `recall` gives;
- `ins`: the share of inserted text in the views' tokens;
- `stale`, `last`, `alone`, `unmrk`: what a view owes its reader (`benchmarks/reader_measures.py` defines it): the
  share of stale views, the share of last words kept, the longest run of people's messages that stand alone, the share
  of gaps that are not marked;
- `ms`, `worst`: milliseconds a request, mean and maximum, without the measuring; everything runs on one core.

Then it prints means over five budgets for the default, so that no single budget decides what is promised of them.

Views hold no system prompt and no tool definitions. What a real provider bills differs by its cache's grain and life.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.tokens.counter import TokenCounter, count_message, open_counter
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from amplifier_module_context_persistent.toolbox.replay.measures import CACHED_PRICE, UNCACHED_PRICE, Measures
from amplifier_module_context_persistent.toolbox.replay.play_session import Player
from amplifier_module_context_persistent.toolbox.replay.policies import POLICIES, CachedCounter, Message
from benchmarks.reader_measures import Owed, ViewReader
from benchmarks.sessions import GENERATED, sessions
from tests.support.checker import check_view

DEFAULT = "truncate"
MEANS = (36_000, 38_000, 40_000, 42_000, 44_000)
OWED = {
    "stale": (0.0, 0.02),
    "answered": (0.90, 1.0),
    "alone": (1.0, 2.0),
    "unmarked": (0.0, 0.02),
    "inserted_share": (0.0, 0.06),
}
"""The least and the most that means over these budgets may come to."""
LONG_BUDGETS = 3
STATELESS_SHARE = 0.5
FLOORS = {
    ("session-a", 40_000): (0.43, 0.73),
    ("session-b", 40_000): (0.40, 0.74),
    ("session-c", 40_000): (0.58, 0.92),
    ("session-a", 80_000): (0.63, 0.97),
    ("session-b", 80_000): (0.64, 0.92),
    ("session-c", 80_000): (0.81, 0.96),
}
"""By session and budget, the most that the default may bill, and the least far evidence that it has to show."""


@dataclass(slots=True)
class Checked(Measures):
    """Measures, what the tests' checker says of the views, and what these owe their reader."""

    invalid: int = 0
    violations: list[str] = field(default_factory=list)
    """The first few."""
    owed: Owed = field(default_factory=Owed)

    def check(self, view: Sequence[Message], history: Sequence[Message]) -> None:
        """Check a view against the rules and its history."""
        found = check_view(view, history=history)
        self.invalid += bool(found)
        self.violations += found[: max(0, 5 - len(self.violations))]

    def reader_measures(self) -> dict[str, float]:
        """What the views owe a reader, by the name of the measure."""
        owed = self.owed
        return {
            "stale": owed.stale,
            "answered": owed.answered,
            "alone": owed.alone,
            "unmarked": owed.unmarked,
            "inserted_share": self.inserted_share,
        }

    def as_json(self) -> dict[str, Any]:
        """Every field and every share."""
        owed = {name: round(share, 4) for name, share in self.reader_measures().items()}
        return {**super(Checked, self).as_json(), **owed}


async def play(player: Player, name: str, budget_tokens: int, options: Mapping[str, Any]) -> Checked:
    """Play a session through a policy, and check each of its views."""
    session, config = player.session, Config.load(options)
    measures = Checked(session.name, budget_tokens, name, session.tokens)
    measures.band = config.compact_threshold - config.target_usage
    reader = ViewReader(session.messages)
    player.on_view = lambda before, view, parts, _: measures.owed.take(reader.look(before, view, parts))
    place, view = 0, None
    async for played in player.requests(POLICIES[name], budget_tokens, options, measures):
        place, view = played.place, played.view
        if name != "none" and view is not None:
            measures.check(view, session.messages[:place])
    if name == "none" and view is not None:
        measures.check(view, session.messages[:place])
    return measures


def play_all(
    played: Iterable[PlayedSession],
    counter: TokenCounter,
    names: Sequence[str],
    budgets: Sequence[int],
    options: Mapping[str, Any],
) -> Iterator[Checked]:
    """Play every session with every budget through every policy."""
    for session in played:
        player = Player(session, counter)
        whole = asyncio.run(play(player, "none", max(budgets), options))
        for budget in budgets:
            for name in names:
                if name == "none":  # is the same with every budget
                    measures = replace(whole, budget_tokens=budget)
                else:
                    measures = asyncio.run(play(player, name, budget, options))
                measures.billed_ratio = round(measures.billed / max(1.0, whole.billed), 4)
                yield measures


def missed(rows: Sequence[Checked]) -> list[str]:
    """What the default owes and does not keep, a sentence each; against policies not played it owes nothing."""
    by_name = {(row.session, row.budget_tokens, row.policy): row for row in rows}
    found = []
    for row in (row for row in rows if row.policy == DEFAULT):
        stateless = by_name.get((row.session, row.budget_tokens, "stateless"))
        sliding = by_name.get((row.session, row.budget_tokens, "sliding"))
        long = row.session_tokens > LONG_BUDGETS * row.budget_tokens
        most, least = FLOORS.get((row.session, row.budget_tokens), (None, None))
        wrong = {
            f"{row.invalid} views are invalid": row.invalid,
            f"{row.over} views are over the budget": row.over,
            f"{row.breaks} breaks, at most {row.breaks_allowed}": row.breaks > row.breaks_allowed,
            f"{row.recoverable:.1%} of far evidence recoverable, not all": row.recoverable < 1,
        }
        if long and stateless:
            share = row.billed / stateless.billed
            wrong[f"{share:.2f} of what stateless bills, at most {STATELESS_SHARE}"] = share > STATELESS_SHARE
        if long and sliding:
            wrong[f"far evidence {row.far:.2f}, not above {sliding.far:.2f} of sliding"] = row.far <= sliding.far
        if most is not None and row.billed_ratio is not None:
            wrong[f"billed {row.billed_ratio:.3f}, at most {most}"] = row.billed_ratio > most
        if least is not None:
            wrong[f"far evidence {row.far:.3f}, at least {least}"] = row.far < least
        found += [f"{row.session} at {row.budget_tokens:,}: {what}" for what, is_so in wrong.items() if is_so]
    return found


def means(rows: Iterable[Checked]) -> dict[str, dict[str, float]]:
    """By session, the means over budgets of what is billed, shown of far back, and owed to a reader."""
    by_session: dict[str, list[Checked]] = {}
    for row in rows:
        by_session.setdefault(row.session, []).append(row)
    means = {}
    for session, found in by_session.items():
        figures = [{"billed": row.billed_ratio or 0.0, "far": row.far} | row.reader_measures() for row in found]
        means[session] = {name: fmean(each[name] for each in figures) for name in figures[0]}
    return means


def owing(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What means show that is owed to a reader and not kept, a sentence each."""
    return [
        f"{session}, mean of budgets: {name} {mean[name]:.3f}, from {least} to {most} is promised"
        for session, mean in found.items()
        for name, (least, most) in OWED.items()
        if not least <= round(mean[name], 4) <= most
    ]


HEAD = (
    f"{'session':<12} {'budget':>6} {'policy':<14} {'req':>4} {'ref':>4} {'inv':>4} {'over':>4} {'brk':>4} {'max':>4} "
    f"{'cached':>6} {'billed':>6} {'far':>6} {'+ins':>6} {'recov':>6} {'ins':>6} {'stale':>5} {'last':>5} {'alone':>5} "
    f"{'unmrk':>5} {'ms':>7} {'worst':>7}"
)


def line_of(row: Checked) -> str:
    """A row of the table."""
    owed = row.owed
    return (
        f"{row.session:<12} {row.budget_tokens:>6} {row.policy:<14} {row.requests:>4} {row.refused:>4} "
        f"{row.invalid:>4} {row.over:>4} {row.breaks:>4} {row.breaks_allowed:>4} {row.cached_share:>6.3f} "
        f"{row.billed_ratio or 0:>6.3f} {row.far:>6.3f} {row.far_gain:>+6.3f} {row.recoverable:>6.3f} "
        f"{row.inserted_share:>6.2%} {owed.stale:>5.3f} {owed.answered:>5.3f} {owed.alone:>5.2f} {owed.unmarked:>5.3f} "
        f"{row.mean_ms:>7.2f} {row.times.max_ms:>7.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and print; 1 if the default misses what it owes."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compaction", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--budgets", type=int, nargs="+", default=[20_000, 40_000, 80_000])
    parser.add_argument("--policy", nargs="+", choices=sorted(POLICIES), default=list(POLICIES))
    parser.add_argument("--fast", action="store_true", help="leave out the stateless ladder")
    parser.add_argument("--transcripts", default=os.path.join(root, "..", "shared", "transcripts"))
    parser.add_argument("--seeds", type=int, default=len(GENERATED), help="how many generated sessions")
    parser.add_argument("--tokenizer", default="auto", help="what counts, in policies and measures")
    parser.add_argument("--means", type=int, nargs="*", default=list(MEANS), help="budgets of the means; none for none")
    parser.add_argument("--json", help="a file to write all measures to")
    given = parser.parse_args(arguments)
    counter = CachedCounter(open_counter(given.tokenizer))
    exact = "exactly, by" if counter.name != "estimate" else "by the"
    print(f"tokens are counted {exact} {counter.name}; a cached token bills {CACHED_PRICE}, another {UNCACHED_PRICE}")
    names = [name for name in given.policy if not (given.fast and name == "stateless")]
    played = list(sessions(given.transcripts, given.seeds, lambda message: count_message(message, counter)))
    rows: list[Checked] = []
    print(HEAD)
    for row in play_all(played, counter, names, given.budgets, {}):
        rows.append(row)
        print(line_of(row), flush=True)
        for violation in row.violations:
            print(f"  {violation}")
    mean = means(play_all(played, counter, [DEFAULT], given.means, {}) if given.means else ())
    for session, found in mean.items():
        values = "  ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"{session:<12} mean of {len(given.means)} budgets: {values}")
    misses = missed(rows) + owing(mean)
    print("\n".join(["", *(f"MISSED {miss}" for miss in misses)]) if misses else "\nall that is promised is kept")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(
                {"counter": counter.name, "rows": [row.as_json() for row in rows], "means": mean, "missed": misses},
                file,
                indent=1,
            )
    return 1 if misses else 0


if __name__ == "__main__":
    raise SystemExit(main())
