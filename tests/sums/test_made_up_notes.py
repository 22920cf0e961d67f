"""Notes that somebody made up, in a checkpoint whose checksums hold: `stats` and `list` end without an error."""

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.cli.main import main
from amplifier_module_context_persistent.log.checkpoint_file import SUFFIX
from amplifier_module_context_persistent.sums import stored_sums
from amplifier_module_context_persistent.sums.glance import NOTE as GLANCE
from amplifier_module_context_persistent.sums.packed import pack, unpack
from amplifier_module_context_persistent.sums.stored_sums import NOTE as SUMS
from tests.support.busy_logs import lines, steps
from tests.support.checkpoints import always, put, stored
from tests.support.logs import write_file
from tests.support.made_up_checkpoints import altered, parts_of, with_parts


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log with something of everything, and its checkpoint."""
    always(monkeypatch)
    monkeypatch.setattr(stored_sums, "MOST_MESSAGES", 32)
    path, rng = str(tmp_path / "log.jsonl"), random.Random(3)
    bodies = [one for step in steps(60, rng) for one in step]
    write_file(path, lines(bodies, 0, rng, 0.0)[0])
    (tmp_path / "log.jsonl").chmod(0o600)
    done = CliRunner().invoke(main, ["checkpoint", path, "--tokenizer", "estimate"])
    assert done.exit_code == 0
    return path


def made_up_sums(note: bytes, rng: random.Random) -> Iterator[bytes]:
    """Notes of sums of which something is another value: of what stands at their head, or of a sum."""
    head, _, packed = note.partition(b"\n")
    given = json.loads(head)
    sizes = [given["records"], *(size for *_, size in given["segments"])]
    ends = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    pieces = [packed[start:end] for start, end in pairwise(ends)]
    while True:
        yield json.dumps(altered(given, rng)).encode() + b"\n" + packed
        changed, at = list(pieces), rng.randrange(len(pieces))
        changed[at] = pack(altered(unpack(pieces[at]), rng))
        said = dict(given, records=len(changed[0]))
        said["segments"] = [
            [first, count, len(one)] for (first, count, _), one in zip(given["segments"], changed[1:], strict=True)
        ]
        yield json.dumps(said).encode() + b"\n" + b"".join(changed)


def test_made_up_sums_are_no_error(path: str) -> None:
    """Whatever stands in them: they are believed as far as they could be sums, and else made anew."""
    described, parts = parts_of(stored(path))
    made_up, run = made_up_sums(parts[SUMS], random.Random(1)), CliRunner().invoke
    for _ in range(150):
        put(path, with_parts(described, {**parts, SUMS: next(made_up)}))
        for more in (["--json"], []):
            done = run(main, ["stats", path, "--tokenizer", "estimate", *more])
            assert (done.exit_code, done.exception) == (0, None), done.exception


def test_a_made_up_glance_is_no_error(path: str) -> None:
    """It is given as far as it could be one; else the log is looked at."""
    described, parts = parts_of(stored(path))
    rng, run = random.Random(2), CliRunner().invoke
    for _ in range(150):
        put(
            path, with_parts(described, {**parts, GLANCE: json.dumps(altered(json.loads(parts[GLANCE]), rng)).encode()})
        )
        for more in (["--json"], []):
            done = run(main, ["list", str(Path(path).parent), *more])
            assert (done.exit_code, done.exception) == (0, None), done.exception


def test_a_sum_of_no_message_does_not_go_on_for_ever(path: str) -> None:
    """Its place in the history would be that of the next one, again and again."""
    described, parts = parts_of(stored(path))
    head, _, packed = parts[SUMS].partition(b"\n")
    given = json.loads(head)
    for count in (0, -1):
        given["segments"][0][1] = count
        put(path, with_parts(described, {**parts, SUMS: json.dumps(given).encode() + b"\n" + packed}))
        expected = CliRunner().invoke(main, ["stats", path, "--json", "--tokenizer", "estimate"])
        Path(path + SUFFIX).unlink()
        found = CliRunner().invoke(main, ["stats", path, "--json", "--tokenizer", "estimate"])
        assert (found.exit_code, found.stdout) == (0, expected.stdout)
