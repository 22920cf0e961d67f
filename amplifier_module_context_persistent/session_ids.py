"""Session ids of other programs as names of directories, which no id leads out of.

Other kits let their users choose ids: a path, an empty text, 300 bytes, `CON`, two that differ in their case alone.
Each becomes a name that is safe on every file system, and no two become one.
Short forms of ids are recognised here, too.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import unquote_to_bytes

_MOST_CHARS = 120
_KEPT_CHARS = 80
_HASHED = "~"
_UNSAFE = re.compile(rb"[^a-z0-9_.-]")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
"""Names of devices on Windows, whatever comes after a dot."""


def directory_name(session_id: str) -> str:
    """Return the name of a directory for an id: bytes other than `a-z0-9_-` and dots inside become `%XX`.

    A long name is cut and ends with a digest of the id.

    Raises:
        TypeError: the id is not a text; kits do not check the ids that they are given.
    """
    if not isinstance(session_id, str):
        raise TypeError(f"a session's id must be a text, not {type(session_id).__name__}")
    encoded = session_id.encode("utf-8", "surrogatepass")
    name = _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], encoded).decode("ascii")
    name = name.replace("..", "%2E%2E")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if name.endswith("."):
        name = f"{name[:-1]}%2E"
    if _RESERVED.match(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) > _MOST_CHARS:
        return f"{name[:_KEPT_CHARS]}{_HASHED}{blake2b(encoded, digest_size=16).hexdigest()}"
    return name or _HASHED


def id_of(name: str) -> str | None:
    """Return the id from which a directory's name was made; None if the name contains only a part of the id."""
    if name == _HASHED:
        return ""
    return None if _HASHED in name else unquote_to_bytes(name).decode("utf-8", "surrogatepass")


def is_short_id_of(session_id: str, name: str) -> bool:
    """Return whether a name is a short form of a sub-agent's id.

    An id is `SESSION-CALL_OWN`: the session that started the sub-agent, an id of the call, and a part of its own. A
    short form consists of the beginnings of what is before the first `_` and of what is after it, with `_` between.
    """
    short_parent, _, short_rest = name.partition("_")
    if not short_parent or not short_rest:
        return False
    parent, _, rest = session_id.partition("_")
    return parent.startswith(short_parent) and rest.startswith(short_rest)
