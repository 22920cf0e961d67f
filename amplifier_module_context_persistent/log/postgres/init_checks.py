"""Check whether the server would refuse `storage init`, without changing anything.

Only the server's catalogs are read, so no client that uses the tables has to wait.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ...errors import ContextPersistentError
from ..database_location import check_schema_name
from .migration_steps import quoted

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

_MAY_CREATE = b"""
select case when pg_catalog.to_regnamespace(%(schema)s) is null
            then pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')
            else pg_catalog.has_schema_privilege(pg_catalog.to_regnamespace(%(schema)s), 'CREATE') end, current_user"""
_MAY_ALTER = b"""
select pg_catalog.pg_has_role(relowner, 'USAGE'), pg_catalog.pg_get_userbyid(relowner)
  from pg_catalog.pg_class where oid = pg_catalog.to_regclass(%s)"""


class WouldBeRefusedError(ContextPersistentError, PermissionError):
    """The server would refuse the work; the text says why."""


def check_may_create(connection: Connection, schema: str) -> None:
    """Check that this role may create the tables of a schema.

    Raises:
        WouldBeRefusedError: the role may not create the tables.
        psycopg.Error: the server refused the query.
    """
    row = connection.execute(_MAY_CREATE, {"schema": check_schema_name(schema)}).fetchone()
    if row is not None and not row[0]:
        raise WouldBeRefusedError(0, f"the role {row[1]} may not create tables in the schema {schema}")


def check_may_alter(connection: Connection, schema: str) -> None:
    """Check that this role may change the tables of a schema; errors as for `check_may_create`."""
    row = connection.execute(_MAY_ALTER, [f"{check_schema_name(schema)}.log"]).fetchone()
    if row is not None and not row[0]:
        raise WouldBeRefusedError(0, f"only the owner of the tables, {row[1]}, may change them")


def check_roles(connection: Connection, roles: Collection[str]) -> None:
    """Check that the server knows these roles; errors as for `check_may_create`."""
    for role in roles:
        row = connection.execute(b"select pg_catalog.to_regrole(%s)", [quoted(role)]).fetchone()
        if row is not None and row[0] is None:
            raise WouldBeRefusedError(0, f"there is no role {role}")
