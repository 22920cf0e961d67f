"""Snapshots that somebody made up: their checksums hold, and what they say may be anything."""

import copy
import random
from typing import Any
from zlib import crc32

import orjson

from tests.support.snapshots import put, stored

VALUES = (-1, 0, 1, 1 << 20, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, 1e308, 1.5, "", "x", None, True, [], {})


def parts_of(path: str) -> tuple[dict[str, Any], list[bytes]]:
    """What a log's snapshot says, and its chunks."""
    (_, _, described), *chunks = stored(path)
    return orjson.loads(described), [content for *_, content in chunks]


def put_parts(path: str, described: Any, chunks: list[bytes]) -> None:
    """Put a snapshot in a log's catalogue whose checksums hold; its description may name others."""
    if isinstance(described, dict) and isinstance(described.get("chunks"), list):
        described = {**described, "chunks": list(map(crc32, chunks))}
    encoded = orjson.dumps(described)
    rows = [(number, crc32(content), content) for number, content in enumerate(chunks)]
    put(path, [(-1, crc32(encoded), encoded), *rows])


def altered(value: Any, rng: random.Random) -> Any:
    """A JSON value in which something, somewhere, is another value, or is missing, or stands twice."""
    made = copy.deepcopy(value)
    holder, key = rng.choice(list(_places(made)))
    chance = rng.random()
    if chance < 0.8:
        holder[key] = copy.deepcopy(rng.choice(VALUES))
    elif chance < 0.9 or isinstance(holder, dict):
        del holder[key]
    else:
        holder.insert(key, copy.deepcopy(holder[key]))
    return made


def _places(value: Any) -> Any:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
