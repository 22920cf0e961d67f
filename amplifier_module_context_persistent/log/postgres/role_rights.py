"""The rights of roles on the tables: to read, to append, and to purge, which `storage init --grant` and others give."""

from __future__ import annotations

from collections.abc import Collection

from ..database_location import check_schema_name
from .migration_steps import APPEND, PURGE, READ, STEPS, Step, quoted, rights_of
from .partitions import divisible_tables, grant_statements
from .schema import creation

_READ = """
grant usage on schema {s} to {role};
grant select on {s}.version, {s}.log, {s}.record to {role};
grant select on all sequences in schema {s} to {role};
"""

_APPEND = f"""{_READ}
revoke update on {{s}}.log from {{role}};
grant insert on {{s}}.log, {{s}}.record to {{role}};
grant update (head, size, crc, changed) on {{s}}.log to {{role}};
"""

_PURGE = f"""{_APPEND}
grant update (name, generation) on {{s}}.log to {{role}};
grant delete on {{s}}.log, {{s}}.record to {{role}};
"""

_RIGHTS = {READ: _READ, APPEND: _APPEND, PURGE: _PURGE}


def rights(kind: str, schema: str, role: str, *, without: Collection[Step] = (), has_parts: bool = False) -> str:
    """Return the SQL statements that grant a role the rights to run sessions, to purge, or to read and back up.

    The statements change no table.

    Args:
        kind: `READ`, `APPEND` (no DELETE, no UPDATE of records, no renaming), or `PURGE`.
        schema: the tables' schema.
        role: the name of an existing role of the server.
        without: the steps that are not done.
        has_parts: whether the tables are partitioned; a backup reads the parts themselves.
    """
    base = _RIGHTS[kind].format(s=check_schema_name(schema), role=quoted(role))
    done = [step for step in STEPS if step not in without]
    added = list[str]()
    for step in done:
        added += [right.replace("{s}", schema) for right in rights_of(step, {role: [kind]})]
    if has_parts:
        added += grant_statements(divisible_tables(creation(schema, done), schema), schema, quoted(role))
    return "".join([base, *(f"{right};\n" for right in added)])
