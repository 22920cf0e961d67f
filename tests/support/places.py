"""Where the project's files and the shared data are. Tests that need shared data skip where it is absent."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FIXTURES = ROOT / "fixtures"
SHARED = ROOT.parent / "shared"
TRANSCRIPTS = SHARED / "transcripts"
FORMATS = SHARED / "formats"
