"""Checkpoints that somebody made up: their checksums hold, and what they say may be anything."""

import copy
import json
import random
import zlib
from hashlib import blake2b
from typing import Any

from amplifier_module_context_persistent.log.checkpoint import HEAD_BYTES, MAGIC

VALUES = (-1, 0, 1, 1 << 20, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, 1 << 70, 1e308, 1.5, "", "x", None, True, [], {})


def parts_of(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The description of a checkpoint, and its columns by name."""
    size = int.from_bytes(content[8:12], "little")
    described, at, parts = json.loads(content[HEAD_BYTES : HEAD_BYTES + size]), HEAD_BYTES + size, {}
    for name, length, _ in described["columns"]:
        parts[name] = content[at : at + length]
        at += length
    return described, parts


def with_parts(described: dict[str, Any], parts: dict[str, bytes]) -> bytes:
    """A checkpoint with a description and parts, whose checksums hold."""
    described = copy.deepcopy(described)
    columns = [[name, len(parts[name]), zlib.crc32(parts[name])] for name, *_ in described["columns"]]
    described["columns"] = columns
    return as_described(described, parts)


def as_described(described: dict[str, Any], parts: dict[str, bytes]) -> bytes:
    """Likewise, with whatever the description says of the parts."""
    encoded = json.dumps(described).encode()
    head = MAGIC + len(encoded).to_bytes(4, "little") + blake2b(encoded, digest_size=16).digest()
    return b"".join((head, encoded, *parts.values()))


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
