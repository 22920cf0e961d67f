"""The example of an agent without Amplifier does what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT
from tests.support.sweeps import proof

SCRIPT = ROOT / "examples" / "own_agent.py"


def ask(directory: Path, question: str) -> str:
    """Run the script for a turn, in a process of its own."""
    command = [sys.executable, str(SCRIPT), "session.jsonl", question]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@proof
def test_an_agent_of_ones_own_goes_on_where_it_was(tmp_path: Path) -> None:
    """The second process has the first one's turn; the log holds both, in order, with the call and its result."""
    (tmp_path / "a.txt").touch()
    assert ask(tmp_path, "Which files are here?") == "Answer 1: 3 files, a.txt, session.jsonl, session.jsonl.open.\n"
    assert ask(tmp_path, "And how many?") == "Answer 2: 3 files, a.txt, session.jsonl, session.jsonl.open.\n"
    records = [json.loads(line) for line in (tmp_path / "session.jsonl").read_text("utf-8").splitlines()]
    roles = [record["role"] for record in records if "_record" not in record]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]


@proof
def test_the_stand_in_compacts_and_the_session_goes_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "native_compaction.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'strategy': 'native'" in done.stdout
    assert "native_fallback" not in done.stdout
    assert (tmp_path / "native-compaction.jsonl").stat().st_size
