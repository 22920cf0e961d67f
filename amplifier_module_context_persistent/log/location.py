"""Locations of logs in PostgreSQL: `postgresql://…#NAME`, or `service=… #NAME`.

What stands before `#` is a connection string as libpq knows it, with two parameters of our own: `schema` (the schema of
the tables) and `prepare=off` (no prepared statements, for poolers that cannot have them). NAME is the log's name.
Passwords belong in the environment (`PGPASSWORD`), in `.pgpass` or in a service file; one that stands in a location
works, and is never shown. `without_password` gives the location to pass on where it may be printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

DEFAULT_SCHEMA = "context_persistent"
PREFIXES = ("postgresql://", "postgres://", "service=")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def check_schema_name(name: str) -> str:
    """Give back the name of a schema that can be written into a statement without quotes.

    Raises:
        ValueError: it has other characters than lower-case letters, digits and `_`.
    """
    if not _SCHEMA_NAME.fullmatch(name):
        raise ValueError(f"the schema {name[:80]!r} must be lower-case letters, digits and _, at most 63 of them")
    return name


@dataclass(frozen=True, slots=True)
class Location:
    """Where logs are in a server: a connection string without our own parameters, a schema, and a log's name."""

    conninfo: str = field(repr=False)
    name: str = ""
    schema: str = DEFAULT_SCHEMA
    prepares: bool = True
    shown: str = ""
    """Without a password: for messages, events and errors."""


def is_postgres(location: str) -> bool:
    """Whether a location names a PostgreSQL server."""
    return location.startswith(PREFIXES)


def stored_name(location: str) -> str | None:
    """The name that a log has among others in one storage, or empty; None for a file, which is named by its path."""
    return location.partition("#")[2] if is_postgres(location) else None


_WITH_PASSWORDS: dict[str, str] = {}
"""By what is shown of a server, the connection string that `without_password` was given for it."""


def without_password(location: str) -> str:
    """Give a location as it may be shown; in this process it goes on naming the same server, with its password.

    Raises:
        ValueError: as `parse_location`.
    """
    parsed = parse_location(location)
    server = parsed.shown.partition("#")[0].rstrip()
    if server != location.partition("#")[0].rstrip():
        _WITH_PASSWORDS[server] = parsed.conninfo
    return parsed.shown


def location_of(storage: str, name: str) -> str:
    """The location of the log with a name in a storage (a location without a name)."""
    return f"{storage}{' #' if storage.startswith('service=') else '#'}{name}"


def parse_location(location: str) -> Location:
    """Read a location.

    Raises:
        ValueError: it is none; the message never quotes a password.
    """
    location, _, name = location.partition("#")
    if location.startswith("service="):
        words = dict(word.partition("=")[::2] for word in location.split())
        schema, prepares = words.pop("schema", DEFAULT_SCHEMA), words.pop("prepare", "on")
        conninfo = " ".join(f"{key}={value}" for key, value in words.items())
        kept = {key: value for key, value in words.items() if "password" not in key}
        shown = " ".join(f"{key}={value}" for key, value in {**kept, **_ours(schema, prepares)}.items())
    elif location.startswith(PREFIXES):
        try:
            parts = urlsplit(location)
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            raise ValueError("the storage URL cannot be read; write postgresql://USER@HOST:PORT/DATABASE") from None
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema, prepares = query.pop("schema", DEFAULT_SCHEMA), query.pop("prepare", "on")
        conninfo = _url(parts.scheme, parts.netloc, parts.path, query)
        user = f"{parts.username}@" if parts.username else ""
        kept = {key: value for key, value in query.items() if "password" not in key}
        shown = _url(parts.scheme, f"{user}{host}{port}", parts.path, {**kept, **_ours(schema, prepares)})
    else:
        raise ValueError("a storage location begins with postgresql:// or service=")
    if prepares not in ("on", "off"):
        raise ValueError("the storage parameter prepare must be on or off")
    conninfo = _WITH_PASSWORDS.get(shown, conninfo)
    return Location(
        conninfo, name, check_schema_name(schema), prepares == "on", location_of(shown, name) if name else shown
    )


def _ours(schema: str, prepares: str) -> dict[str, str]:
    """Our own parameters, where they are not the defaults."""
    given = {"schema": (schema, DEFAULT_SCHEMA), "prepare": (prepares, "on")}
    return {key: value for key, (value, default) in given.items() if value != default}


def _url(scheme: str, host: str, path: str, query: dict[str, str]) -> str:
    return f"{scheme}://{host}{path}{'?' if query else ''}{urlencode(query)}"
