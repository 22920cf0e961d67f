"""Locations of logs in PostgreSQL: `postgresql://…#NAME`, or `service=… #NAME`.

Before `#` is a connection string of libpq, with three more parameters: `schema` (the schema of the tables),
`prepare=off` (no prepared statements, for poolers that do not support them) and `read` (the host of a replica that
lists and searches read; `HOST:PORT`, or several with commas). NAME is the log's name. Passwords belong
in the environment (`PGPASSWORD`), in `.pgpass` or in a service file. A password in a location works and is never shown;
`without_password` gives a location that may be printed.

A location is checked before any connection, and an error never repeats text that may be part of a password: if an `@`,
`/` or `#` in a password is not written as %XX, libpq takes the rest for a host, a port or a database, and prints it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from ..errors import ConfigError
from .hidden_password import (
    HOW_TO_WRITE,
    SECRET_PARAMETERS,
    remember_password,
    with_password,
    without_userinfo_password,
)

DEFAULT_SCHEMA = "context_persistent"
PREFIXES = ("postgresql://", "postgres://", "service=")
STORAGE_VARIABLE = "AMPLIFIER_CONTEXT_STORAGE"
"""The environment variable with the location for commands that get none."""

_OURS = {"schema": DEFAULT_SCHEMA, "prepare": "on", "read": ""}
_WORD = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\#]|\\.)*)\s*")
_WORDS = re.compile(f"(?:{_WORD.pattern})*")
_READ = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@,?&#%\s]+)(?::(\d+))?")
_PORT = re.compile(r"\d*(,\d*)*")
_PARAMETER = re.compile(r"[a-z_]{1,40}")
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//?)")
"""The beginning of a URL; one letter before the colon is a drive of Windows."""


_WORDS_OF_LIBPQ = """
    application_name channel_binding client_encoding connect_timeout dbname fallback_application_name
    gssdelegation gssencmode gsslib host hostaddr keepalives keepalives_count keepalives_idle keepalives_interval
    krbsrvname load_balance_hosts max_protocol_version min_protocol_version oauth_client_id oauth_client_secret
    oauth_issuer oauth_scope options passfile password port replication require_auth requirepeer scram_client_key
    scram_server_key service ssl ssl_max_protocol_version ssl_min_protocol_version sslcert sslcertmode
    sslcompression sslcrl sslcrldir sslkey sslkeylogfile sslmode sslnegotiation sslpassword sslrootcert sslsni
    target_session_attrs tcp_user_timeout user
"""
LIBPQ_PARAMETERS = frozenset(_WORDS_OF_LIBPQ.split())
"""The parameters of libpq, up to version 18. https://www.postgresql.org/docs/current/libpq-connect.html"""


def check_schema_name(name: str) -> str:
    """Check that the name of a schema needs no quotes in a statement, and return it.

    Raises:
        ValueError: the name has other characters than lower-case letters, digits and `_`.
    """
    if not _SCHEMA_NAME.fullmatch(name):
        raise ValueError(f"the schema {name[:80]!r} must be lower-case letters, digits and _, at most 63 of them")
    return name


@dataclass(frozen=True, slots=True)
class Location:
    """A location in a server: a connection string without our own parameters, a schema, and a log's name."""

    conninfo: str = field(repr=False)
    name: str = ""
    schema: str = DEFAULT_SCHEMA
    prepares: bool = True
    read: str = ""
    """The hosts of a replica; empty if the location names none."""
    shown: str = ""
    """The location without a password, for messages, events and errors."""


def is_postgres(location: str) -> bool:
    """Return whether a location names a PostgreSQL server."""
    return location.startswith(PREFIXES)


def shown_location(location: str) -> str:
    """Return a log's location without a password.

    In this process, the result still names the log (`without_password`).
    """
    return without_password(location) if is_postgres(location) else location


def refuse_other_url(place: str | os.PathLike[str]) -> None:
    """Raise an error for a URL that is not of PostgreSQL.

    Used as a path, such a URL would create a directory such as `mysql:`.

    Raises:
        ConfigError: the location is a URL, but not one of PostgreSQL.
    """
    if why := why_no_place(place):
        raise ConfigError(why)


def why_no_place(place: object) -> str:
    """Explain why a URL cannot be a storage; "" for anything but a URL, and for a URL of PostgreSQL.

    The text repeats only the URL's scheme, since a password may follow.
    """
    text = os.fspath(place) if isinstance(place, str | os.PathLike) else None
    if not isinstance(text, str) or is_postgres(text):
        return ""
    found = _URL.match(text)
    if found is None:
        return ""
    scheme = found[1].lower()
    slashes = found[2]
    if scheme.startswith("postgres"):  # a `Path` keeps only one slash
        return f"this {scheme}: URL cannot be read; give a text that begins with postgresql://"
    if slashes == "/":
        return ""
    if scheme == "file":
        return "a file: URL cannot be read; give the path"
    return f"nothing can be kept at {scheme}://; give a path, or a postgresql:// URL"


def why_no_path(value: object) -> str:
    """Explain why a value cannot be the path of a log; "" if the value can.

    The text quotes no URL, because a URL may have a password.
    """
    if isinstance(value, str) and is_postgres(value):
        return "this is the address of a database, not a path; give the database as `storage`, and a session id"
    return why_no_place(value)


def split_location(location: str) -> tuple[str, str]:
    """Split a location into the storage, as written, and the name of a log in it ("" if the location names no log)."""
    words = _WORDS.match(location) if location.startswith("service=") else None
    at = words.end() if words else 0  # a value in quotes may hold a `#`
    rest, _, name = location[at:].partition("#")
    return (location[:at] + rest).rstrip(), name


def stored_name(location: str) -> str | None:
    """Return the name of a log within its storage ("" if the location names none).

    None for a file, whose name is its path.
    """
    return split_location(location)[1] if is_postgres(location) else None


def without_password(location: str) -> str:
    """Return a location without its password. This process keeps the password, so the result names the same server.

    Raises:
        ValueError: as for `parse_location`.
    """
    parsed = parse_location(location)
    given_server, _ = split_location(location)
    shown_server, _ = split_location(parsed.shown)
    is_password_removed = shown_server != given_server
    if is_password_removed:
        remember_password(shown_server, parsed.conninfo)
    return parsed.shown


def location_of(storage: str, name: str) -> str:
    """Return the location of the log with a name in a storage (a location without a name)."""
    separator = " #" if storage.startswith("service=") else "#"
    return f"{storage}{separator}{name}"


def parse_location(location: str) -> Location:
    """Parse the location of a storage or of a log in it, such as `postgresql://host/db#NAME` or `service=x #NAME`.

    Raises:
        ValueError: the text is not a location. The message contains no password.
    """
    if location.startswith("service="):
        storage = _read_service(location)
    elif location.startswith(PREFIXES):
        storage = _read_url(location)
    else:
        raise ValueError("a storage location begins with postgresql:// or service=")
    if storage.prepare not in ("on", "off"):
        raise ValueError("the storage parameter prepare must be on or off")
    if storage.read and not all(_READ.fullmatch(host) for host in storage.read.split(",")):
        raise ValueError("the storage parameter read must be HOST or HOST:PORT, or several with commas")
    _, name = split_location(location)
    shown_storage = storage.shown
    return Location(
        conninfo=with_password(shown_storage, storage.conninfo),
        name=name,
        schema=check_schema_name(storage.schema),
        prepares=storage.prepare == "on",
        read=storage.read,
        shown=location_of(shown_storage, name) if name else shown_storage,
    )


def host_and_port(written: str) -> tuple[str, str]:
    """Split one host of the parameter `read` into the host and the port ("" if none is written)."""
    found = _READ.fullmatch(written)
    if found is None:
        return written, ""
    return found[1].strip("[]"), found[2] or ""


class _Storage(NamedTuple):
    """A location without a log's name: the parameters for libpq, the package's own parameters, and the text to show."""

    conninfo: str
    schema: str
    prepare: str
    read: str
    shown: str


def _read_service(location: str) -> _Storage:
    words = _words(split_location(location)[0])
    own_parameters = {key: _unquoted(words.pop(key, default)) for key, default in _OURS.items()}
    _check_parameters({key: _unquoted(value) for key, value in words.items()})
    without_secrets = {key: value for key, value in words.items() if key not in SECRET_PARAMETERS}
    shown_parameters = without_secrets | _not_default(own_parameters)
    return _Storage(
        _as_words(words),
        own_parameters["schema"],
        own_parameters["prepare"],
        own_parameters["read"],
        _as_words(shown_parameters),
    )


def _as_words(words: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in words.items())


def _read_url(location: str) -> _Storage:
    server, name = split_location(location)
    server, _, query = server.partition("?")
    shown_server = without_userinfo_password(server, name)
    ours = dict(_OURS)
    theirs = list[str]()
    shown_pairs = list[str]()
    parameters: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        written_key, _, value = pair.partition("=")
        if written_key in _OURS:
            ours[written_key] = unquote(value)
            continue
        key = unquote(written_key)
        parameters[key] = unquote(value)
        theirs.append(pair)
        if key not in SECRET_PARAMETERS:
            shown_pairs.append(pair)
    _check_parameters(parameters, names_unknown="@" not in query)  # else it may begin in a password
    shown_pairs += [f"{key}={value}" for key, value in _not_default(ours).items()]
    return _Storage(
        _url(server, theirs), ours["schema"], ours["prepare"], ours["read"], _url(shown_server, shown_pairs)
    )


def _not_default(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of this package, not of libpq, that differ from their defaults."""
    return {key: value for key, value in ours.items() if value != _OURS[key]}


def _check_parameters(parameters: Mapping[str, str], *, names_unknown: bool = True) -> None:
    """Check the names of parameters, and the values that may contain a part of a password.

    Args:
        parameters: parameters and their values.
        names_unknown: whether the error may repeat the name of a parameter that libpq does not know.

    Raises:
        ValueError: libpq does not know a parameter, or a host, a port or a database cannot be read.
    """
    for name, value in parameters.items():
        if name not in LIBPQ_PARAMETERS:
            quoted_name = ""
            if names_unknown and _PARAMETER.fullmatch(name):
                quoted_name = f" {name!r}"
            raise ValueError(f"the storage has a parameter{quoted_name} that PostgreSQL's clients do not know")
        if name == "port" and not _PORT.fullmatch(value):
            raise ValueError("the storage has a port that is no number")
        if name in ("host", "hostaddr", "dbname") and "@" in value:
            raise ValueError(f"the storage has a {name} with an @ in it; {HOW_TO_WRITE}")


def _words(server: str) -> dict[str, str]:
    """Parse words `key=value` into a mapping, with the values as written.

    Raises:
        ValueError: the text has anything else than such words.
    """
    words: dict[str, str] = {}
    position = 0
    while position < len(server):
        word = _WORD.match(server, position)
        if word is None:
            raise ValueError("the storage cannot be read; write service=NAME KEY=VALUE …, values with blanks in quotes")
        words[word[1]] = word[2]
        position = word.end()
    return words


def _unquoted(value: str) -> str:
    if value.startswith("'"):
        value = value[1:-1]
    return re.sub(r"\\(.)", r"\1", value)


def _url(server: str, pairs: list[str]) -> str:
    return f"{server}{'?' if pairs else ''}{'&'.join(pairs)}"
