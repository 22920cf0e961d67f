"""A command that only reads: it asks the replica that `--storage` names, and the primary if that cannot be reached."""

from __future__ import annotations

from contextlib import ExitStack

import click

from ...errors import LogError
from ...log.database_location import parse_location
from .error_messages import reason
from .session_argument import storage
from .terminal import one_line

_REPLICA = f"{__name__}.replica"


def read_replica() -> None:
    """Let the current command read from the replica that `--storage` names, and print how far it is behind.

    If the replica cannot be reached, the command reads from the primary, and a message says so.
    """
    place = storage()
    if place is None or not parse_location(place).read:
        return
    from ...log.postgres.replica import reading_from_replica

    context = click.get_current_context()
    reading = ExitStack()
    try:
        note = str(reading.enter_context(reading_from_replica(place)))
        context.meta[_REPLICA] = reading
        context.call_on_close(reading.close)
    except LogError as error:
        note = f"the replica cannot be read, so the primary is: {reason(error)}"
    click.echo(one_line(note), err=True)


def leave_replica() -> None:
    """Let the current command read from the primary from now on."""
    reading: ExitStack | None = click.get_current_context().meta.get(_REPLICA)
    if reading is not None:
        reading.close()
