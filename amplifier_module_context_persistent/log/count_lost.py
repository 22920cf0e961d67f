"""Messages that a log lost: they had been read or written, and are gone from the log when it is read again.

A log loses messages if its file is truncated or replaced by an older copy, or after a change to a server that lagged. A
session tells its host (`session/log_events.py`).
"""

from __future__ import annotations

from collections import Counter

from .index import Index


def count_lost(known: Index, found: Index) -> int:
    """Count the messages of the earlier index `known` that are missing in `found`; 0 if a purge was made since."""
    if found.control_counts["purge"] > known.control_counts["purge"]:
        return 0
    return (Counter(known.columns.id_hashes) - Counter(found.columns.id_hashes)).total()
