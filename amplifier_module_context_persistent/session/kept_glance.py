"""What `list` says of a session in a database is kept there as the session closes, so that no list has to open it."""

from __future__ import annotations

import logging

from ..catalogue.database import is_switched_off
from ..catalogue.glance import Glance, Glances
from ..errors import LogError
from ..log.base import Log, ReadableLog
from ..log.location import split_location, stored_name
from ..tokens.counter import open_counter

logger = logging.getLogger(__name__)


class _GlanceInDatabase(Glances):
    def note(self, log: ReadableLog, glance: Glance, told: str, first_offset: int, location: str) -> None:
        """Keep it now."""
        from ..log.postgres.names import keep_glances  # its driver is an extra

        storage, name = split_location(location)
        keep_glances(storage, [(name, glance.size_bytes, told, first_offset)])


def keep_glance(log: Log) -> None:
    """Look at a log in a database, and have that kept; of any other log nothing is kept, and no failure is told."""
    location = log.describe().location
    if stored_name(location) is None or is_switched_off():
        return
    try:
        _GlanceInDatabase().look_at(log, open_counter("estimate"), location)
    except LogError as error:
        logger.debug("%s: what list says of it is not kept: %s", location, error)
