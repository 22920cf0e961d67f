"""The `bound` of a request, said once more without what the package keeps from one view to the next."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from amplifier_module_context_persistent.view.bound import sent_hash


def bound_of(messages: Sequence[dict[str, Any]], tools: str = "") -> str:
    """Tools, then all system text, then every message in order, each hashed onto what came before."""
    running = blake2b(bytes(16) + tools.encode(), digest_size=16).digest()
    instructing = [message for message in messages if message["role"] in ("system", "developer")]
    for digest in map(sent_hash, [*instructing, *messages]):
        running = blake2b(running + digest, digest_size=16).digest() if b"" not in (running, digest) else b""
    return running.hex()
