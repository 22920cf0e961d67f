"""Messages for benchmarks that run in several interpreters: it needs nothing but the standard library.

Every text begins with the message's number (`#17 `), so that what was lost, doubled or changed can be told.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

TURN = 20
NUMBER = re.compile(r"#(\d+) ")
"""The number of a message, at the beginning of its text."""


@cache
def _text(seed: int) -> str:
    rng = random.Random(seed)
    words = ["".join(rng.choice("etaoinshrdlu") for _ in range(rng.randint(2, 9))) for _ in range(4_000)]
    return " ".join(rng.choice(words) for _ in range(60_000))


def messages(count: int, seed: int = 1, first: int = 0) -> Iterator[dict[str, Any]]:
    """Messages of about 1.1 KB each, in turns of twenty: a question, nine calls with their results, an answer."""
    text, rng = _text(seed), random.Random(seed + first)
    for number in range(first, first + count):
        start, step = rng.randrange(len(text) - 2_000), number % TURN
        head = f"#{number} "
        if step in (0, TURN - 1):
            content = head + text[start : start + 300 + 20 * step]
            yield {"role": "user" if step == 0 else "assistant", "content": content}
        elif step % 2:
            call = {"id": f"c{number}", "tool": "read_file", "arguments": {"path": f"src/m{number % 300}.py"}}
            yield {"role": "assistant", "content": head + text[start : start + 60], "tool_calls": [call]}
        else:
            content = head + text[start : start + 1_900]
            yield {"role": "tool", "tool_call_id": f"c{number - 1}", "content": content}


def plain(first: int = 0, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Messages of about 1 KB without tools, without end: a question, an answer, and so on."""
    text, number = _text(seed), first
    while True:
        start = number * 997 % (len(text) - 1_000)
        role = "assistant" if number % 2 else "user"
        yield {"role": role, "content": f"#{number} {text[start : start + 1_000]}"}
        number += 1
