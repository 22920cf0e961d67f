"""The pictures of the documentation."""

import re
from pathlib import Path
from xml.etree import ElementTree

from benchmarks import pictures, recordings
from benchmarks.chromium import BROWSER
from tests.support.commands import shows
from tests.support.places import DOCS
from tests.support.sweeps import proof


def texts(path: Path) -> list[str]:
    """What a picture says."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    return [element.text for element in root.iter() if element.tag.endswith("}text") and element.text]


def test_a_recording_is_whole_for_who_sees_no_motion() -> None:
    """Lines appear in order, text is no markup, long lines are cut; light or dark is the reader's choice."""
    drawn = recordings.recording("a < b", [("show x", ["<b>", "x" * 200]), ("list", [])])
    root = ElementTree.fromstring(drawn)
    shown = [one for one in root if one.tag.endswith("}text")]
    assert [one.text for one in shown][:2] == ["$ context-persistent show x", "<b>"]
    assert len(shown[2].text or "") == 100
    times = [float(re.findall(r"[\d.]+", one.attrib["style"])[0]) for one in shown]
    assert times == sorted(times)
    shows(drawn, "prefers-color-scheme: dark", "prefers-reduced-motion: reduce")


@proof
def test_the_pictures_are_current_and_stand_by_themselves(tmp_path, monkeypatch):
    """The command draws what the documentation shows, whatever the environment says; nothing outside is referred to."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    assert pictures.main([str(tmp_path)]) == 0
    for name in (f"{one}.svg" for one in pictures.PICTURES if one != "report"):
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        assert set(re.findall(r"https?://[^\"\s)]+", drawn)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"@import|@font-face|href=\"(?!#)", drawn)
        assert texts(tmp_path / name) == texts(DOCS / name), f"{name} is old: python -m benchmarks.pictures"
    shown = "".join(texts(tmp_path / "replay.svg")).replace("\xa0", " ")
    shows(shown, "compaction:", "proved", "of 20,000 tokens")
    shown = "".join(texts(tmp_path / "look.svg")).replace("\xa0", " ")
    shows(shown, "first line", "at the beginning of the view are the same")
    for name in ("report.png", "report-dark.png") if BROWSER else ():  # letters and smoothing differ among systems
        assert (tmp_path / name).read_bytes()[:4] == (DOCS / name).read_bytes()[:4] == b"\x89PNG"
