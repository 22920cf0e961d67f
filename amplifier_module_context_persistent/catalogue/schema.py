"""The tables of the catalogue.

Another schema is another file: a writer replaces a catalogue whose schema is not exactly this one.
"""

from __future__ import annotations

from types import MappingProxyType

from .bloom_filter import PARTS

FIGURES_VERSION = 6
"""The version of the computation of figures. Figures of another version are computed again."""
FIGURE_TABLES = MappingProxyType(
    {
        "turns": "turn INTEGER NOT NULL, first_position INTEGER NOT NULL, messages INTEGER NOT NULL,"
        " tokens INTEGER NOT NULL, first_us INTEGER, last_us INTEGER, timed_position INTEGER, said_position INTEGER,"
        " copy_id TEXT NOT NULL",
        "shares": "role TEXT NOT NULL, messages INTEGER NOT NULL, tokens INTEGER NOT NULL",
        "large": "position INTEGER NOT NULL, message_id TEXT NOT NULL, role TEXT NOT NULL, tokens INTEGER NOT NULL",
        "calls": "turn INTEGER NOT NULL, position INTEGER, tool TEXT NOT NULL, called_us INTEGER,"
        " result_position INTEGER, answered_us INTEGER, failed INTEGER NOT NULL, result_tokens INTEGER NOT NULL,"
        " copy_id TEXT NOT NULL",
        "requests": "turn INTEGER, provider TEXT NOT NULL, model TEXT NOT NULL, time_us INTEGER,"
        " uncached_tokens INTEGER, cached_tokens INTEGER, written_tokens INTEGER, written_1h_tokens INTEGER NOT NULL,"
        " output_tokens INTEGER, is_output_estimated INTEGER NOT NULL,"
        " actual_tokens INTEGER, reported_cached_tokens INTEGER, error REAL, ratio REAL, overhead_tokens REAL,"
        " requests INTEGER NOT NULL, is_input_unknown INTEGER NOT NULL, bill_id TEXT NOT NULL, source_cost REAL",
        "views": "tokens INTEGER NOT NULL, shared_tokens INTEGER NOT NULL, unbound INTEGER NOT NULL",
        "plans": "number INTEGER NOT NULL, summary TEXT NOT NULL",
    }
)
"""The tables of figures, each with its columns after the session. Rows keep the order of insertion."""
FILTER_TABLES = tuple(f"filters_{part}" for part in range(PARTS))
"""The tables of block filters: one for each part of the filters, because a search reads few parts.
`blocks_that_may_match` explains the ids."""
RANKED_TABLES = ("ranked_messages", "ranked_terms")
"""The tables of ranked segments: columns of messages and buckets of terms. `ranked_words` explains the ids."""
TABLES = (
    """CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    tokenizer TEXT NOT NULL DEFAULT '',
    is_fork INTEGER NOT NULL DEFAULT 0,
    glance TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE covered (
    session INTEGER NOT NULL, part TEXT NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    end_offset INTEGER NOT NULL, tail BLOB NOT NULL,
    PRIMARY KEY (session, part)) WITHOUT ROWID""",
    *(
        f"CREATE TABLE {name} (session INTEGER NOT NULL, {columns} /* figures {FIGURES_VERSION} */)"
        for name, columns in FIGURE_TABLES.items()
    ),
    *(f"CREATE INDEX {name}_of_sessions ON {name} (session)" for name in FIGURE_TABLES if name != "calls"),
    "CREATE INDEX calls_of_turns ON calls (session, turn)",
    """CREATE TABLE snapshots (
    session INTEGER NOT NULL, chunk INTEGER NOT NULL, crc32 INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (session, chunk, crc32))""",
)
"""The statements that make the tables of sessions, figures and snapshots."""
_WORDS = (
    """CREATE TABLE words (
    session INTEGER PRIMARY KEY,
    mark INTEGER NOT NULL, blocks INTEGER NOT NULL, end_offset INTEGER NOT NULL, crc32 INTEGER NOT NULL)""",
    *(
        f"""CREATE TABLE {table} (
    id INTEGER PRIMARY KEY,
    first_offset INTEGER NOT NULL, last_offset INTEGER NOT NULL,
    filter BLOB NOT NULL, crc32 INTEGER NOT NULL)"""
        for table in FILTER_TABLES
    ),
    """CREATE TABLE ranked (
    session INTEGER PRIMARY KEY, mark INTEGER NOT NULL, segments BLOB NOT NULL, crc32 INTEGER NOT NULL)""",
    *(
        f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, content BLOB NOT NULL, crc32 INTEGER NOT NULL)"
        for table in RANKED_TABLES
    ),
)
SCHEMA = (*TABLES, *_WORDS)
"""The statements that make all tables."""
