"""The fields of the host's `metadata.json` that have a session's name and other texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....sessions.session_name import MOST_CHARS

_TEXT_KEYS = ("name", "description", "working_dir")
"""The fields of `metadata.json` in which a purge replaces a text."""
NAME_KEYS = ("name", "description", "name_source")
"""The fields of `metadata.json` about the session's name."""
FORK_MARK = " (fork)"


def with_texts_replaced(fields: Mapping[str, Any], replace: Callable[[str], str]) -> dict[str, Any]:
    """Return metadata with its texts replaced; ids, times, the bundle and the model stay."""
    new = {key: replace(fields[key]) for key in _TEXT_KEYS if isinstance(fields.get(key), str)}
    return {**fields, **new}


def without_name(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the session's name and description, which may be made from messages."""
    return {key: value for key, value in fields.items() if key not in NAME_KEYS}


def name_fields(known: Mapping[str, Any], title: str, *, is_fork: bool) -> dict[str, str]:
    """Return the metadata fields for a new session's name: the origin's name, or else the title.

    Hosts allow 200 characters. The origin's `name_source` says whether a program made the name; then a host may choose
    a better one.
    """
    name = known.get("name")
    if not isinstance(name, str) or not name.strip():
        name = title
    name = " ".join(name.split())
    if not name:
        return {}
    mark = FORK_MARK if is_fork else ""
    fields = {"name": f"{name[: MOST_CHARS - len(mark)]}{mark}"}
    for key in ("description", "name_source"):
        text = known.get(key)
        if isinstance(text, str):
            fields[key] = text
    return fields
