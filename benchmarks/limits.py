"""The limits of what is measured: how much each figure may come to, why, and when its limit changed.

    python -m benchmarks.limits      # the table of docs/speeds.md

A limit is never raised to meet a figure. If one cannot be met, the figure is `MISSED` and the reason is looked for.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of one figure."""

    most: float
    why: str
    """What the limit is for: what somebody would feel beyond it."""
    changes: tuple[str, ...] = ()
    """When it changed, from what to what, and why; oldest first."""


_BACK = "what the cuts of November had cost was to be won back, and a limit is not raised to meet a figure"

LIMITS: dict[str, Limit] = {
    "durable append": Limit(
        1.25,
        "an append costs the disk's sync, and little beside it",
        ("2026-11-26: 1.35 to 1.25, " + _BACK,),
    ),
    "append without sync": Limit(
        0.95,
        "keeping every message safe from a kill costs no more than the older module's way, which promised nothing",
        ("2026-11-24: 1.0 to 1.3", "2026-11-26: 1.3 to 0.95, " + _BACK),
    ),
    "append, long log, mean": Limit(1.1, "a session does not get slower as it gets longer"),
    "append, long log, 99th percentile": Limit(1.5, "nor now and then"),
    "appends at once": Limit(1.3, "many tasks that append at once wait for one sync, not for each other"),
    "list, processor time": Limit(0.5, "what is added as a list is prepared, locked, written and taken in together"),
    "list, durable": Limit(1.1, "and waits for the disk once"),
    "first view, 100,000": Limit(
        1.6,
        "a resumed session answers as soon as a new one",
        ("2026-11-26: from 1.5 times none and 50 ms to 1.6 times none, which machines of any speed can be asked",),
    ),
    "first view, 100,000, without a catalogue": Limit(3.0, "a log that was copied without its catalogue is scanned"),
    "first view, 1,000,000": Limit(2.0, "as with 100,000 messages"),
    "first view, 1,000,000, without a catalogue": Limit(14.0, "about four seconds, once"),
    "first view, memory, MB": Limit(45.0, "about 45 bytes a message stay in memory, whatever their size"),
    "get_messages": Limit(1.5, "hosts read the whole history after each tool"),
    "set_messages": Limit(3.0, "and hand it back before each turn"),
    "resume, 4 times as long": Limit(5.0, "reading back is linear"),
    "plan, ms": Limit(40.0, "a plan is made between two requests, and nobody waits for it consciously"),
    "request, 40,000 tokens": Limit(
        1.5,
        "between two plans a view is its predecessor and what is new: it costs the parsing of what is shown",
        ("2026-11-26: 2.5 to 1.5, " + _BACK,),
    ),
    "request, 200,000 tokens": Limit(
        1.3, "as at 40,000 tokens; what a request costs once counts less", ("2026-11-26: 2.5 to 1.3, " + _BACK,)
    ),
    "request, long log": Limit(1.3, "a request costs what its view costs, whatever the history"),
    "first line, s": Limit(0.3, "a command answers at once: what it takes after --help goes unnoticed"),
    "pause, ms": Limit(50.0, "an append beside other processes of the project is not held up noticeably"),
    "pause of the event loop, ms": Limit(
        50.0, "a view, a plan or the whole history of a long session holds no other task up"
    ),
    "import, s": Limit(0.3, "a host that mounts the module starts as soon as before"),
}
"""By the name of the figure: ratios, or the unit that the name ends with."""


def most(name: str) -> float:
    """The limit of a figure."""
    return LIMITS[name].most


def as_markdown() -> str:
    """The table of `docs/speeds.md`."""
    lines = ["| figure | at most | why | changed |", "| --- | ---: | --- | --- |"]
    lines += [f"| {name} | {one.most:g} | {one.why} | {'; '.join(one.changes)} |" for name, one in LIMITS.items()]
    return "\n".join(lines)


def main() -> int:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__).parse_args()
    print(as_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
