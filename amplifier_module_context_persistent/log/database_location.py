"""Locations of logs in PostgreSQL: `postgresql://…#NAME`, or `service=… #NAME`.

What stands before `#` is a connection string as libpq knows it, with two parameters of our own: `schema` (the schema of
the tables) and `prepare=off` (no prepared statements, for poolers that cannot have them). NAME is the log's name.
Passwords belong in the environment (`PGPASSWORD`), in `.pgpass` or in a service file; one in a location works, and is
never shown. `without_password` gives the location to pass on where it may be printed.

A location is checked before anything connects, and an error repeats nothing that may be part of a password: an
`@`, `/` or `#` in a password that is not written as %XX makes libpq
take the rest for a host, a port or a database, and print it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from ..errors import ConfigError

DEFAULT_SCHEMA = "context_persistent"
PREFIXES = ("postgresql://", "postgres://", "service=")
STORAGE_VARIABLE = "AMPLIFIER_CONTEXT_STORAGE"
"""The environment variable with a location for commands that are not given one."""

_OURS = {"schema": DEFAULT_SCHEMA, "prepare": "on"}
_WORD = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\#]|\\.)*)\s*")
_WORDS = re.compile(f"(?:{_WORD.pattern})*")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\[\]:@/]*)(:\d*)?")
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
"""What libpq knows, up to version 18. https://www.postgresql.org/docs/current/libpq-connect.html"""

_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})
_HOW_TO_WRITE = "write postgresql://USER@HOST:PORT/DATABASE, with other characters as %XX"


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


def shown_location(location: str) -> str:
    """A log's location as it may be shown, without a password; it goes on naming the same log in this process."""
    return without_password(location) if is_postgres(location) else location


def refuse_other_url(place: str | os.PathLike[str]) -> None:
    """Refuse a URL that is no location in PostgreSQL: as a path it would name a new directory `mysql:`.

    Raises:
        ConfigError: it is one.
    """
    if why := why_no_place(place):
        raise ConfigError(why)


def why_no_place(place: object) -> str:
    """Why nothing can be kept at a URL; "" if it is no URL, or one of PostgreSQL.

    The text repeats nothing but the URL's scheme, since a password may follow.
    """
    text = os.fspath(place) if isinstance(place, str | os.PathLike) else None
    found = _URL.match(text) if isinstance(text, str) and not is_postgres(text) else None
    if found is None:
        return ""
    scheme, slashes = found[1].lower(), found[2]
    if scheme.startswith("postgres"):  # of a `Path` one slash is left
        return f"this {scheme}: URL cannot be read; give a text that begins with postgresql://"
    if slashes == "/":
        return ""
    if scheme == "file":
        return "a file: URL cannot be read; give the path"
    return f"nothing can be kept at {scheme}://; give a path, or a postgresql:// URL"


def split_location(location: str) -> tuple[str, str]:
    """The storage of a location, as it is written, and the name of a log in it, or empty."""
    words = _WORDS.match(location) if location.startswith("service=") else None
    at = words.end() if words else 0  # a value in quotes may hold a `#`
    rest, _, name = location[at:].partition("#")
    return (location[:at] + rest).rstrip(), name


def stored_name(location: str) -> str | None:
    """The name that a log has among others in one storage, or empty; None for a file, which is named by its path."""
    return split_location(location)[1] if is_postgres(location) else None


_WITH_PASSWORDS: dict[str, str] = {}
"""By what is shown of a server, the connection string that `without_password` was given for it."""


def without_password(location: str) -> str:
    """Give a location as it may be shown; in this process it goes on naming the same server, with its password.

    Raises:
        ValueError: as `parse_location`.
    """
    parsed = parse_location(location)
    server = split_location(parsed.shown)[0]
    if server != split_location(location)[0]:
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
    if location.startswith("service="):
        storage = _read_service(location)
    elif location.startswith(PREFIXES):
        storage = _read_url(location)
    else:
        raise ValueError("a storage location begins with postgresql:// or service=")
    if storage.prepare not in ("on", "off"):
        raise ValueError("the storage parameter prepare must be on or off")
    name, shown = split_location(location)[1], storage.shown
    return Location(
        _WITH_PASSWORDS.get(shown, storage.conninfo),
        name,
        check_schema_name(storage.schema),
        storage.prepare == "on",
        location_of(shown, name) if name else shown,
    )


class _Storage(NamedTuple):
    """A location without a log's name: what libpq gets, our own parameters, and what may be shown."""

    conninfo: str
    schema: str
    prepare: str
    shown: str


def _read_service(location: str) -> _Storage:
    words = _words(split_location(location)[0])
    ours = {key: _unquoted(words.pop(key, default)) for key, default in _OURS.items()}
    _check_parameters({key: _unquoted(value) for key, value in words.items()})
    shown = {key: value for key, value in words.items() if key not in _SECRETS} | _not_default(ours)
    return _Storage(_as_words(words), ours["schema"], ours["prepare"], _as_words(shown))


def _as_words(words: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in words.items())


def _read_url(location: str) -> _Storage:
    server, name = split_location(location)
    server, _, query = server.partition("?")
    shown_server = _without_userinfo_password(server, name)
    ours, theirs, shown = dict(_OURS), list[str](), list[str]()
    given: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        written_key, _, value = pair.partition("=")
        if written_key in _OURS:
            ours[written_key] = unquote(value)
            continue
        key = unquote(written_key)
        given[key] = unquote(value)
        theirs.append(pair)
        if key not in _SECRETS:
            shown.append(pair)
    _check_parameters(given, names_unknown="@" not in query)  # else it may begin in a password
    shown += [f"{key}={value}" for key, value in _not_default(ours).items()]
    return _Storage(_url(server, theirs), ours["schema"], ours["prepare"], _url(shown_server, shown))


def _not_default(ours: Mapping[str, str]) -> dict[str, str]:
    """Our own parameters, where they are not the defaults."""
    return {key: value for key, value in ours.items() if value != _OURS[key]}


def _check_parameters(given: Mapping[str, str], *, names_unknown: bool = True) -> None:
    """Check the names of parameters, and those values that may be half of a password.

    Args:
        given: parameters and their values.
        names_unknown: whether the error may repeat the name of a parameter that libpq does not know.

    Raises:
        ValueError: libpq does not know one, or a host, a port or a database cannot be read.
    """
    for name, value in given.items():
        if name not in LIBPQ_PARAMETERS:
            named = f" {name!r}" if names_unknown and _PARAMETER.fullmatch(name) else ""
            raise ValueError(f"the storage has a parameter{named} that PostgreSQL's clients do not know")
        if name == "port" and not _PORT.fullmatch(value):
            raise ValueError("the storage has a port that is no number")
        if name in ("host", "hostaddr", "dbname") and "@" in value:
            raise ValueError(f"the storage has a {name} with an @ in it; {_HOW_TO_WRITE}")


def _words(server: str) -> dict[str, str]:
    """The words of `key=value`, as they are written.

    Raises:
        ValueError: something else stands there.
    """
    words, at = dict[str, str](), 0
    while at < len(server):
        word = _WORD.match(server, at)
        if word is None:
            raise ValueError("the storage cannot be read; write service=NAME KEY=VALUE …, values with blanks in quotes")
        words[word[1]], at = word[2], word.end()
    return words


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1] if value.startswith("'") else value)


def _without_userinfo_password(server: str, name: str) -> str:
    """The part before the `?` of a URL, without a password; it may name several hosts.

    Raises:
        ValueError: a host, a port or a database cannot be read; perhaps it is half of a password.
    """
    scheme, _, rest = server.partition("://")
    authority, slash, database = rest.partition("/")
    user, at, hosts = authority.partition("@")  # as libpq does: at the first one
    if not at:
        user, hosts = "", authority
    is_cut = "@" in name and (not database or (not at and ":" in hosts))  # a `#` in a password
    if is_cut or "@" in unquote(database) or not all(_is_host(host) for host in hosts.split(",")):
        raise ValueError(f"the storage URL cannot be read; {_HOW_TO_WRITE}")
    return f"{scheme}://{user.partition(':')[0]}{at}{hosts}{slash}{database}"


def _is_host(host: str) -> bool:
    return _HOST.fullmatch(host) is not None and "@" not in unquote(host)


def _url(server: str, pairs: list[str]) -> str:
    return f"{server}{'?' if pairs else ''}{'&'.join(pairs)}"
