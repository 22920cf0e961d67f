"""An import holds what its file holds: texts, calls, results, images and usage, as an independent count finds them."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.imports import imported
from tests.support.independent_counts import COUNTERS, messages
from tests.support.places import SHARED
from tests.support.sweeps import proof, spread

FORMATS, TRANSCRIPTS = SHARED / "formats", SHARED / "transcripts"
FILES = [
    *sorted(path for path in FORMATS.glob("*/*.json*") if path.is_file()),
    *sorted(TRANSCRIPTS.glob("*.jsonl")),
    *sorted(TRANSCRIPTS.glob("entire/*.jsonl")),
]


@proof(quick=1)
@pytest.mark.skipif(not FILES, reason="the shared files are not at hand")
@pytest.mark.parametrize("path", list(spread(FILES, 12)), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_nothing_is_lost_doubled_or_made_up(path: Path, tmp_path: Path) -> None:
    """In the session, its branches and its sub-agents together; a summary is in a plan or is a message."""
    report = imported(path, tmp_path / "log.jsonl")
    sources = [path, *sorted(path.with_suffix("").rglob("*.jsonl"))]
    kind = path.parent.name if path.is_relative_to(FORMATS) else "jsonl"
    expected = COUNTERS[kind](sources)
    found = messages(Path(session.path) for session in report.sessions)
    assert expected.texts - found.texts == Counter()
    assert found.texts - expected.texts == Counter()
    assert (found.calls, found.results) == (expected.calls, expected.results)
    assert found.images == expected.images
    assert +found.usage == +expected.usage
    assert expected.texts
