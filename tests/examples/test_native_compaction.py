"""The example of compaction by the provider, run as its docstring says: with the stand-in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT


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
