"""The work at the end of a session besides closing its log: index it in its database, archive old logs.

Both serve later questions, so a close without them loses nothing.
"""

from __future__ import annotations

import asyncio
from functools import partial

from ..catalogue.session_list_cache import keep_in_database
from ..log.append_queue import AppendQueue
from ..log.database_location import stored_name
from ..tokens.counter import TokenCounter


async def index_in_database(queue: AppendQueue, location: str, counter: TokenCounter | None) -> None:
    """Store what later questions want to know of a log: its list entry, and in a database its figures and ranked words.

    Args:
        queue: the queue of the log, which is still open.
        location: the log's location.
        counter: counts tokens for the figures; None to store no figures.
    """
    await queue.run(keep_in_database)
    if stored_name(location) is None:
        return
    from ..catalogue.figures_in_postgres import keep_figures_in_database
    from ..catalogue.ranked_words_in_postgres import keep_ranked_words  # few sessions are in a database

    if counter is not None:
        await queue.run(partial(keep_figures_in_database, counter=counter))
    await queue.run(keep_ranked_words)


async def archive_others(location: str, days: int | None) -> None:
    """Archive the old logs of a project, after the session's own log was closed.

    Args:
        location: the location of the session's own log. Nothing is done if it is empty or in a database.
        days: the number of days without a write (`archive_after_days`); None to archive nothing.
    """
    if days is None or not location or stored_name(location) is not None:
        return
    from .archive_old_logs import archive_old_logs  # few sessions need it

    await asyncio.to_thread(archive_old_logs, location, days)
