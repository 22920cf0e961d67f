"""Passwords in the locations of databases: taken out of what is shown, and kept in this process.

An error never repeats text that may be part of a password: if an `@`, `/` or `#` in a password is not written as %XX,
libpq takes the rest for a host, a port or a database, and prints it. `database_location.without_password` gives a
location that may be printed.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

SECRET_PARAMETERS = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
)
"""The parameters of libpq whose values are never shown."""
HOW_TO_WRITE = "write postgresql://USER@HOST:PORT/DATABASE, with other characters as %XX"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\[\]:@/]*)(:\d*)?")

_WITH_PASSWORDS: dict[str, str] = {}
"""The connection strings with passwords that were hidden, by the location that is shown."""


def remember_password(shown_location: str, conninfo: str) -> None:
    """Remember the connection string of a server, so that its location without a password still names the server."""
    _WITH_PASSWORDS[shown_location] = conninfo


def with_password(shown_location: str, conninfo: str) -> str:
    """Return the remembered connection string of a location without a password, else `conninfo`."""
    return _WITH_PASSWORDS.get(shown_location, conninfo)


def without_userinfo_password(server: str, name: str) -> str:
    """Return the part of a URL before `?` (`server`) without a password. The URL may name several hosts.

    Raises:
        ValueError: a host, a port or a database cannot be read; it may be a part of a password.
    """
    scheme, _, rest = server.partition("://")
    authority, slash, database = rest.partition("/")
    user, at_sign, hosts = authority.partition("@")  # libpq too splits at the first `@`
    if not at_sign:
        user = ""
        hosts = authority
    names_no_database = not database or (not at_sign and ":" in hosts)
    is_cut_by_hash = "@" in name and names_no_database  # `user:pa#ss@host/db`: `name` has the rest of the password
    is_cut_by_slash = "@" in unquote(database)  # `user:pa/ss@host`: `database` has the rest
    has_only_hosts = all(map(_is_host, hosts.split(",")))
    if is_cut_by_hash or is_cut_by_slash or not has_only_hosts:
        raise ValueError(f"the storage URL cannot be read; {HOW_TO_WRITE}")
    return f"{scheme}://{user.partition(':')[0]}{at_sign}{hosts}{slash}{database}"


def _is_host(host: str) -> bool:
    return _HOST.fullmatch(host) is not None and "@" not in unquote(host)
