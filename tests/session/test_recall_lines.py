"""Choosing lines that may match: no hit is lost, in a file and in a database, which fetches none of the rest."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.database_location import location_of
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.row_bytes import RowBytes
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.messages.check_incoming import to_plain
from amplifier_module_context_persistent.messages.text import full_text
from amplifier_module_context_persistent.search.pattern import regex_pattern, text_pattern
from amplifier_module_context_persistent.session.recall import lines_that_may_match
from tests.support.logs import STAMP, append_bodies
from tests.support.sweeps import proof

TEXTS = [
    "plain words", "Plain WORDS", "naïve café", "NAÏVE CAFÉ", "a back\\slash", 'a "quoted" word', "tab\tand\nlines",
    "303 and \\303", "percent %s and %d", "surrogate \ud800 café", "日本語のテキスト", "emoji 🙂 end", "under_score",
    "x" * 5_000,
]  # fmt: skip
QUERIES = [
    "words",
    "WORDS",
    "café",
    "é",
    "back",
    "slash",
    "quoted",
    "lines",
    "303",
    "%s",
    "日本",
    "🙂",
    "under_",
    "xxx",
]


@pytest.fixture(params=["file", pytest.param("postgres", marks=proof)])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    """A log with each of the texts."""
    path = str(tmp_path / "log.jsonl")
    made = (
        FileLog(path) if request.param == "file" else PostgresLog(location_of(request.getfixturevalue("storage"), "s"))
    )
    with closing(made) as log:
        for number, text in enumerate(TEXTS):
            message = {"role": "user", "content": text}
            if "\ud800" in text:
                body = encode_message(to_plain(message), message_id=f"m{number}", timestamp=STAMP)
            else:
                body = encode_message(message, message_id=f"m{number}", timestamp=STAMP)
            append_bodies(log, body)
        yield log


@pytest.mark.parametrize("ignore_case", [False, True])
def test_no_hit_is_lost(log: Log, ignore_case: bool) -> None:
    """Whatever the query, its case and its script; and most of the rest is left out."""
    everything = range(len(log.index))
    texts = {ordinal: full_text(message)[0] for ordinal, message in zip(everything, log.read(everything), strict=True)}
    chosen = needed = 0
    for query in QUERIES:
        for make in (text_pattern, regex_pattern):
            pattern = make(query, ignore_case=ignore_case)
            if not pattern.needle:
                continue
            hits = {ordinal for ordinal, text in texts.items() if list(pattern.spans(text))}
            found = lines_that_may_match(log, everything, pattern)
            assert hits <= found, query
            chosen, needed = chosen + len(found), needed + len(hits)
    assert needed
    assert chosen < 4 * needed


@proof
def test_a_database_gives_only_lines_that_may_match(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choosing reads no line."""
    with closing(PostgresLog(location_of(storage, "s"))) as log:
        texts = [f"message {number}" for number in range(200)]
        append_bodies(
            log,
            *(encode_message({"role": "user", "content": text}, message_id=text, timestamp=STAMP) for text in texts),
        )
        monkeypatch.setattr(RowBytes, "fetch", None)
        assert lines_that_may_match(log, range(200), text_pattern("message 77")) == {77}
