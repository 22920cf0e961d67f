"""A session that is killed and resumed, again and again, against providers that enforce the rule on bound reasoning.

    python -m tests.support.reasoning_kills --kills 200 --seed 1

Amplifier's loop runs in a process that is ended by SIGKILL at a random moment; the next one resumes the session as the
command line does. What was sent and answered is noted in a file, which the checker reads in the end. Prints counts;
exits with 1 if a request was refused, or if reasoning was sent that is invalid or was dropped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.support.enforcing_provider import MODELS
from tests.support.reasoning_rules import Exchange, find_invalid, find_lost
from tests.support.reasoning_sessions import GeneratedSession
from tests.support.sent_requests import Part, Sent

KILLS_A_LOG = 20
CAUSES = (
    *("turn", "interrupted", "late_result", "host_repair", "pin", "late_system", "reminder", "ephemeral"),
    *("other_prompt", "other_tools", "switch", "compact", "side_view", "side_request", "retained", "network"),
)


class KilledSession(GeneratedSession):
    """One life of the session: what all lives share follows from `seed`, what this one does from `life`."""

    def __init__(self, seed: int, life: int, directory: Path) -> None:
        super().__init__(seed, directory, CAUSES)
        self.rng = random.Random(seed * 10_000 + life)
        self.serial = life * 1_000_000
        self.service.label = f"l{life}x"
        self._journal = os.open(directory / "journal.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.service.journal = self._note

    def _note(self, exchange: Exchange, error: str) -> None:
        line = {"sent": asdict(exchange.sent), "answer": [asdict(part) for part in exchange.answer], "error": error}
        os.write(self._journal, json.dumps(line).encode() + b"\n")

    async def live(self) -> None:
        """Resume the session, and play it until the process is killed."""
        await self.start(resumed=self.log.exists())
        while True:
            await self.step(self.rng.choice(("turn", "turn", *CAUSES)))


def _begin(seed: int, life: int, directory: Path) -> int:
    """Fork a process that plays a life; its id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        asyncio.run(KilledSession(seed, life, directory).live())
    except BaseException:  # the parent sees that it was not killed
        (directory / "errors.txt").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(1)


def play_killed(seed: int, kills: int) -> tuple[Counter[str], list[str]]:
    """Kill and resume one session; counts, and a sentence for each fault."""
    directory = Path(tempfile.mkdtemp(prefix="context-persistent-kills-"))
    rng, faults = random.Random(seed), []
    try:
        for life in range(kills):
            journal = directory / "journal.jsonl"
            before = journal.stat().st_size if journal.exists() else 0
            pid = _begin(seed, life, directory)
            _wait(journal, before, patient=rng.random() < 0.85)
            time.sleep(rng.uniform(0.0, 0.25))
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
            if not os.WIFSIGNALED(status):
                faults.append(f"life {life} ended by itself: {(directory / 'errors.txt').read_text()[-600:]}")
        counts, found = judge(list(_exchanges(directory / "journal.jsonl")))
        counts["kills"] += kills
        return counts, faults + found
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait(journal: Path, before: int, *, patient: bool) -> None:
    """Wait until a process has sent something, as most have before they are killed."""
    deadline = time.monotonic() + (20 if patient else 0.02)
    while time.monotonic() < deadline:
        if patient and journal.exists() and journal.stat().st_size > before:
            return
        time.sleep(0.002)


def _exchanges(journal: Path) -> Iterator[tuple[Exchange, str]]:
    """What was sent and answered, in order, and the error of each request that was refused."""
    waiting: tuple[Exchange, str] | None = None
    for line in journal.read_bytes().splitlines() if journal.exists() else ():
        try:
            noted = json.loads(line)
        except ValueError:  # torn by the kill
            continue
        request = Sent(**{**noted["sent"], "system": tuple(noted["sent"]["system"]), "parts": _parts(noted["sent"])})
        exchange = Exchange(request, _parts({"parts": noted["answer"]}))
        if waiting is not None and not exchange.answer:
            yield waiting
        waiting = exchange, noted["error"]
        if exchange.answer:
            yield waiting
            waiting = None
    if waiting is not None:
        yield waiting


def _parts(noted: dict[str, Any]) -> tuple[Part, ...]:
    return tuple(Part(**part) for part in noted["parts"])


def judge(noted: list[tuple[Exchange, str]]) -> tuple[Counter[str], list[str]]:
    """What the checker says of all that was sent."""
    exchanges = [exchange for exchange, _ in noted]
    bound = [number for number, one in enumerate(exchanges) if MODELS[one.sent.model].binds]
    invalid, refused = find_invalid(exchanges, bound), [error for _, error in noted if error]
    counts = Counter({"requests": len(exchanges), "refused": len(refused), "invalid": len(invalid)})
    counts["requests with blocks"] = sum(any(part.mark for part in one.sent.parts) for one in exchanges)
    last: dict[tuple[str, str], int] = {}
    for number, one in enumerate(exchanges):
        reader = one.sent.provider, one.sent.model
        if reader in last and exchanges[last[reader]].answer and MODELS[one.sent.model].binds:
            counts["lost"] += len(find_lost(exchanges, last[reader], number))
        last[reader] = number
    return counts, [f"refused: {error}" for error in refused] + [f"invalid: {one}" for one in invalid]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    totals, faults, seed, begin = Counter[str](), list[str](), options.seed, time.monotonic()
    while totals["kills"] < options.kills:
        counts, found = play_killed(seed, min(KILLS_A_LOG, options.kills - totals["kills"]))
        totals, seed = totals + counts, seed + 1
        faults += [f"seed {seed - 1}: {one}" for one in found]
    print(*faults[:20], sep="\n")
    names = ("kills", "requests", "requests with blocks", "refused", "invalid", "lost")
    print(", ".join(f"{name} {totals[name]:,}" for name in names), f"{time.monotonic() - begin:.0f} s", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
