"""The picture of a session's tokens."""

from pathlib import Path
from xml.etree import ElementTree

from benchmarks import picture

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_has_a_line_for_each_series_and_each_level() -> None:
    """Every request is a point, more tokens stand higher, and names are escaped."""
    root = ElementTree.fromstring(picture.draw({"a <b>": [10, 30, 20], "c": [5]}, {"top & all": 40}, title="t"))
    lines = [line.attrib["points"].split() for line in root.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [3, 1]
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights[1] < heights[2] < heights[0]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"t", "a <b>", "c", "top & all", "40"} <= set(texts)
    assert sum("stroke-dasharray" in line.attrib for line in root.iter(f"{SVG}line")) == 1


def test_the_command_plays_a_session_and_writes_the_same_picture_each_time(tmp_path: Path) -> None:
    """What is drawn depends on the seed, the messages and the budget alone."""
    out = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in out:
        picture.main(["--seed", "5", "--messages", "40", "--budget", "8000", "--out", str(path)])
    assert out[0].read_text() == out[1].read_text()
    assert "views by" in out[0].read_text()
