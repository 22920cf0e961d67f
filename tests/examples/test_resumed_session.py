"""The example script does what it says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.places import ROOT
from tests.support.sweeps import proof

SCRIPT = ROOT / "examples" / "resumed_session.py"


@pytest.mark.skipif(sys.platform == "win32", reason="it kills a process by SIGKILL")
@proof
def test_a_killed_session_and_its_child_are_resumed() -> None:
    """Nothing acknowledged is lost, nothing is doubled, the open call is answered, and the child keeps its prompt."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    first, resumed = done.stdout.split("== resumed process\n")
    assert "turn 1: Done after 3 messages: The explorer says: Done after 2 messages" in first
    assert first.splitlines()[-1] == "the process is killed while `publish` runs"
    assert resumed.splitlines() == [
        "resumed: 6 messages, the last one is assistant's call of `publish`",
        "turn 3: Done after 8 messages: What happened?",
        "the open call is answered in the view: [interrupted: this call has no result]",
        "the child's history after the replay: 2 of 2 messages",
        "the child's view begins with: You explore, and you change nothing.",
    ]
