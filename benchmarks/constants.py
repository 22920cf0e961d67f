"""Constants of the choice: sessions are played with each of them as it is, smaller, and larger.

    python -m benchmarks.constants [--only NAME ...] [--budget N] [--transcripts DIRECTORY] [--tokenizer NAME]

With all as they are, and then by constant and value, it prints means over the sessions, by `benchmarks.compaction`'s
definitions: what is billed (as a share of sending everything), far evidence that views show, last words kept, the
longest run of people's messages that stand alone, and what is put in. Two made-up sessions are played in which people
paste logs and agents answer at length, as the generated ones of `benchmarks.sessions` do not; then recorded
sessions, if a directory of them is given.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import pkgutil
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import fmean
from typing import Any
from unittest import mock

from amplifier_module_context_persistent import compaction
from amplifier_module_context_persistent.compaction.always_kept import ANSWER_CHARS
from amplifier_module_context_persistent.tokens.counter import count_message, open_counter
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from amplifier_module_context_persistent.toolbox.replay.play_session import Player
from benchmarks.compaction import DEFAULT, play
from benchmarks.sessions import sessions

TRIED: Mapping[str, tuple[Any, ...]] = {
    "FIRST_SHARE": (0.12, 0.5),
    "WORDS_SHARE": (0.2, 0.6),
    "INTERRUPTED_SHARE": (0.12, 0.5),
    "CALLS_SHARE": (0.12, 0.5),
    "LEAST_SAVED": (100, 400),
    "LEAST_OF_ANSWER": (50, 200),
    "ANSWER_CHARS": (ANSWER_CHARS[1:], (3_000, *ANSWER_CHARS)),
    "SMALLER": (0.5, 0.9),
    "ENDS_WORDS": (1.5, 3.0),
    "BODY_CHARS": (500, 2_000),
    "MOST_ROW_CHARS": (300, 1_200),
    "MOST_TITLE_CHARS": (80, 320),
    "TOKENS_A_NAME": (2, 8),
    "FULL_WORTH_CHARS": (80, 320),
    "NEWEST_SHARE": (0.15, 0.6),
    "OLDER_SHARE": (0.3, 0.9),
    "RAISED_SHARE": (0.2, 0.8),
    "RAISED_FOR_PEOPLE": (0.35, 1.0),
    "LEAST_USED": (0.7, 0.95),
    "SAID_SHARE": (0.04, 0.16),
    "LEAST_SAID_CHARS": (80, 320),
}
"""By constant, a smaller and a larger value than the one in force."""

_NAMES = [found.name for found in pkgutil.iter_modules(compaction.__path__)]
MODULES = [importlib.import_module(f"{compaction.__name__}.{name}") for name in _NAMES]


def talk(seed: int, turns: int = 30) -> Iterator[dict[str, Any]]:
    """A session in which people write and paste a lot, results are tables, JSON and logs, and answers are long."""
    drawn, files = random.Random(seed), [f"src/part_{number}/module_{number % 7}.py" for number in range(40)]

    def sentences(number: int) -> str:
        names = [(drawn.choice(files), drawn.randrange(90), drawn.randrange(10_000)) for _ in range(number)]
        return "\n\n".join(f"In {file} the total_{name} is {value}." for file, name, value in names)

    def log(number: int) -> str:
        lines = (f"2026-01-02 09:{at % 60:02} INFO worker_{drawn.randrange(30)} took {at} ms" for at in range(number))
        return "\n".join(lines)

    def result() -> str:
        ids = [f"K{drawn.randrange(10_000):05}" for _ in range(20)]
        rows = [{"id": name, "file": drawn.choice(files), "cents": drawn.randrange(9_999)} for name in ids]
        table = "\n".join(f"{row['id']} | {row['file']} | {row['cents']}" for row in rows)
        return drawn.choice((json.dumps(rows, indent=2), table, log(drawn.randrange(5, 90)), "ok"))

    yield {"role": "user", "content": sentences(50)}
    for turn in range(turns):
        for call in range(drawn.randrange(1, 5)):
            asked = {"id": f"c{turn}_{call}", "tool": "read_file", "arguments": {"file_path": drawn.choice(files)}}
            yield {"role": "assistant", "content": sentences(drawn.randrange(2)), "tool_calls": [asked]}
            yield {"role": "tool", "tool_call_id": asked["id"], "name": "read_file", "content": result()}
        yield {"role": "assistant", "content": sentences(drawn.choice((2, 12, 60)))}
        yield {"role": "user", "content": sentences(drawn.randrange(1, 12)) + "\n" + log(drawn.choice((0, 0, 60)))}


@contextmanager
def set_to(name: str, value: Any) -> Iterator[None]:
    """Set a constant in every module that has it."""
    with ExitStack() as changed:
        for module in MODULES:
            if hasattr(module, name):
                changed.enter_context(mock.patch.object(module, name, value))
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.constants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(TRIED), default=list(TRIED))
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--transcripts", help="recorded sessions, played as well")
    parser.add_argument("--tokenizer", default="estimate")
    given = parser.parse_args(arguments)
    counter = open_counter(given.tokenizer)
    told = [PlayedSession.of(f"talk-{seed}", talk(seed), lambda m: count_message(m, counter)) for seed in (1, 2)]
    count = partial(count_message, counter=counter)
    recorded = sessions(given.transcripts, 0, count) if given.transcripts else ()
    players = [Player(session, counter) for session in (*told, *recorded)]
    whole = [asyncio.run(play(player, "none", given.budget, {})).billed for player in players]
    print(f"{'constant':<18} {'value':<48} {'billed':>6} {'far':>6} {'last':>6} {'alone':>6} {'put in':>6}")
    changed = [(name, value) for name in given.only for value in TRIED[name]]
    runs: list[tuple[str, Any]] = [("as they are", ""), *changed]
    for name, value in runs:
        with set_to(name, value):
            rows = [asyncio.run(play(player, DEFAULT, given.budget, {})) for player in players]
        billed = fmean(row.billed / max(1.0, most) for row, most in zip(rows, whole, strict=True))
        measures = [row.reader_measures() for row in rows]
        answered, alone, inserted = (fmean(m[key] for m in measures) for key in ("answered", "alone", "inserted_share"))
        far = fmean(row.far for row in rows)
        figures = f"{billed:>6.4f} {far:>6.4f} {answered:>6.3f} {alone:>6.2f} {inserted:>6.4f}"
        print(f"{name:<18} {value!s:<48} {figures}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
