"""Partitioned tables: each table with rows of logs is divided into parts by the hash of the log's id.

The rows of a log are in one part of each table. So a team can vacuum part by part, move a part to another disk, or use
the parts as shards. For a client such tables are like others. PostgreSQL 12 is needed, because other tables refer to
the partitioned table of logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

PARTS = 16
LEAST_SERVER = 12

_PART = "_part_"
_CREATED = r"create table if not exists {s}\.(\w+) \(\n    log_id .*?\n\)"


def divided(creation: str, schema: str) -> str:
    """Return SQL statements changed so that tables with rows of logs are partitioned; other tables do not change."""
    return _created(schema).sub(lambda found: f"{found[0]} partition by hash (log_id)", creation)


def divisible_tables(creation: str, schema: str) -> list[str]:
    """Return the names of the tables created by some SQL statements, but only of tables with rows of logs."""
    return _created(schema).findall(creation)


def part_statements(creation: str, schema: str) -> list[str]:
    """Return SQL statements that create the parts of partitioned tables.

    Args:
        creation: the SQL statements that create the tables. Only tables with rows of logs get parts.
        schema: the schema of the tables.
    """
    statements = list[str]()
    for table in divisible_tables(creation, schema):
        for number, part in enumerate(names_of_parts(table)):
            statements.append(
                f"create table if not exists {schema}.{part} partition of {schema}.{table}"
                f" for values with (modulus {PARTS}, remainder {number})"
            )
    return statements


def grant_statements(tables: Iterable[str], schema: str, role: str) -> list[str]:
    """Return statements that let a role (quoted already) read the parts of tables directly, as a backup does."""
    statements = list[str]()
    for table in tables:
        parts = ", ".join(f"{schema}.{part}" for part in names_of_parts(table))
        statements.append(f"grant select on {parts} to {role}")
    return statements


def names_of_parts(table: str) -> list[str]:
    """Return the names of the parts of a table."""
    return [f"{table}{_PART}{number}" for number in range(PARTS)]


def whole_table(table: str) -> str:
    """Return the name of the table to which a part belongs; for a table that is no part, its own name."""
    return re.sub(rf"{_PART}\d+$", "", table)


def is_partitioned(connection: psycopg.Connection[Any], schema: str, table: str = "log") -> bool:
    """Return whether a table of a schema is partitioned."""
    row = connection.execute(
        b"select relkind = 'p' from pg_catalog.pg_class where oid = pg_catalog.to_regclass(%s)", [f"{schema}.{table}"]
    ).fetchone()
    return bool(row and row[0])


def _created(schema: str) -> re.Pattern[str]:
    return re.compile(_CREATED.replace("{s}", re.escape(schema)), re.DOTALL)
