"""A bit of the catalogue that flips loses no search result, and what it broke is made anew."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.catalogue.catalogue_file import catalogue_of
from amplifier_module_context_persistent.catalogue.schema import FILTER_TABLES
from amplifier_module_context_persistent.search.pattern import regex_pattern
from amplifier_module_context_persistent.sessions import pattern_in_projects
from amplifier_module_context_persistent.sessions.pattern_in_projects import ProjectSearch
from amplifier_module_context_persistent.sessions.session_files import session_files
from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof, whole

SEARCHES = (("a needle",), ("-w", "pin"), ("(?i)CUSHION|needle",), ("nothing has this",))
WORDS = ("alpha", "beta", "gammaThree", "delta_one", "epsilon", "zeta")


@pytest.fixture
def catalogue(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with four sessions of several blocks; gives its catalogue."""
    monkeypatch.setattr(pattern_in_projects, "LEAST_BYTES", 0)
    monkeypatch.setattr(pattern_in_projects, "BLOCK_BYTES", 2_000)
    monkeypatch.setattr(pattern_in_projects, "SETTLED_S", -60)
    choose = random.Random(5)
    for name, said in (
        ("one", "a needle here"),
        ("two", "a pin cushion"),
        ("three", "x"),
        ("four", "y"),
        ("five", "z"),
    ):
        texts = [" ".join(choose.choices(WORDS, k=40)) for _ in range(40)]
        texts.insert(40 if name == "two" else 17, said)
        write(log_of(name), [{"role": "user", "content": text} for text in texts])
    run("search", "zebra", code=None)
    return catalogue_of(log_of("one"))


def found(*arguments: str) -> str:
    done = run("search", *arguments, "--json", code=None)
    assert done.exit_code in (0, 1), done.output
    return str(done.stdout)


def opened_for(text: str) -> set[str]:
    """The sessions whose logs a search would open."""
    files = session_files()
    search = ProjectSearch(files, regex_pattern(text))
    return {session.id for session in files if not search.rules_out(session)}


def flipped(content: bytes, bit: int) -> bytes:
    """A file's content with one bit flipped."""
    changed = bytearray(content)
    changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(changed)


@proof
def test_no_flipped_bit_loses_a_result(catalogue: Path) -> None:
    """Anywhere in the file; after two searches the catalogue serves as before."""
    expected = {arguments: found(*arguments, "--no-catalogue") for arguments in SEARCHES}
    sound, choose = catalogue.read_bytes(), random.Random(11)
    for _ in range(2_000 if whole() else 25):
        bit = choose.randrange(8 * len(sound))
        catalogue.write_bytes(flipped(sound, bit))
        for arguments in SEARCHES:
            assert found(*arguments) == expected[arguments], f"bit {bit}, {arguments}"
        assert opened_for("zebra") == set(), f"bit {bit}"


ALTERATIONS = {
    "filters emptied": "UPDATE {} SET filter = zeroblob(length(filter))",
    "offsets moved": "UPDATE {} SET first_offset = last_offset + 9",
    "filters of another type": "UPDATE {} SET filter = 'text'",
    "offsets of another type": "UPDATE {} SET first_offset = 'text'",
    "rows gone": "DELETE FROM {} WHERE id % 2 = 1",
    "a row of another block": "UPDATE {} SET id = id + 1048576 WHERE id = (SELECT max(id) FROM {})",
    "a block less": "UPDATE words SET blocks = blocks - 1",
    "a later end": "UPDATE words SET end_offset = end_offset + 100",
    "a later end in the coverage": "UPDATE covered SET end_offset = size_bytes, tail = x'00'",
    "another session": "UPDATE words SET session = session + 10",
    "another name": "UPDATE sessions SET path = replace(path, 'one', 'ond')",
    "a name that is no text": "UPDATE sessions SET path = CAST(x'73ff73' AS TEXT) WHERE id = 1",
    "other sessions": "UPDATE sessions SET id = id + 100",
    "no words": "DELETE FROM words",
}


@proof(quick=1)
@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_no_altered_row_loses_a_result(catalogue: Path, alteration: str) -> None:
    expected = {arguments: found(*arguments, "--no-catalogue") for arguments in SEARCHES}
    with closing(sqlite3.connect(catalogue, isolation_level=None)) as other:
        for statement in {ALTERATIONS[alteration].replace("{}", table) for table in FILTER_TABLES}:
            other.execute(statement)
    for arguments in SEARCHES:
        assert found(*arguments) == expected[arguments], arguments
    assert opened_for("zebra") == set()
    assert opened_for("a needle") == {"one"}


@proof
def test_a_session_of_which_rows_of_two_times_are_mixed_is_read(catalogue: Path) -> None:
    """Rows of before are sound by themselves, but have another mark."""
    before = catalogue.read_bytes()
    texts = ["alpha " * 400, "beta a needle", "alpha " * 400, "beta"]
    write(log_of("three"), [{"role": "user", "content": text} for text in texts * 8])
    run("search", "zebra", code=None)
    expected = found("a needle", "--no-catalogue")
    old = catalogue.with_name("old")
    old.write_bytes(before)
    with closing(sqlite3.connect(catalogue, isolation_level=None)) as other:
        other.execute("ATTACH ? AS old", (str(old),))
        for table in FILTER_TABLES:
            other.execute(f"REPLACE INTO {table} SELECT * FROM old.{table} WHERE id IN (SELECT id FROM {table})")
    assert found("a needle") == expected
