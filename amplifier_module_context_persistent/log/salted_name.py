"""The hash under which a list of erasures holds a name, so that nobody can look the name up by it."""

from __future__ import annotations

import hashlib


def salted_name(salt: str, name: str) -> str:
    """Return the hash of a name with an erasure's salt, as its line holds it."""
    return hashlib.sha256(f"{salt}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
