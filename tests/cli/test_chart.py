"""Charts of tokens over requests."""

import re
from xml.etree import ElementTree

import pytest

from amplifier_module_context_persistent.cli.compare import columns, scale, svg


def test_columns_hold_the_least_and_the_largest():
    """Few values are columns by themselves; many are brought together, and no peak is lost."""
    assert columns([3, 1], 5) == [(3, 3), (1, 1)]
    assert columns([1, 9, 2, 2, 8, 3], 3) == [(1, 9), (2, 2), (3, 8)]
    assert columns([], 5) == []
    assert len(columns(range(100_000), 70)) == 70


def test_a_history_that_is_sent_whole_does_not_flatten_the_others():
    """The scale goes to the largest value, but not far above the budget."""
    assert scale({"a": [10, 20]}, 100) == 20
    assert scale({"a": [10, 2_000]}, 100) == 250
    assert scale({}, 100) == 1


def test_levels_stand_beside_the_budget():
    """Each that is not above all else has a line and its name, which is escaped."""
    drawn = svg({"a": [10, 100]}, 80, title="t", levels={"thr<eshold": 70, "far": 1_000})
    shown = [text for text in ElementTree.fromstring(drawn).itertext() if text.strip()]
    assert {"budget 80", "thr<eshold 70"} <= set(shown)
    assert drawn.count("stroke-dasharray") == 2


@pytest.mark.parametrize("values", [[], [0], [5, 10, 3], list(range(5_000))])
def test_an_svg_stands_by_itself(values):
    """It is well formed, refers to nothing outside, and is the same each time."""
    series = {"<b>&\"none'": values, "truncate": values[:2]}
    drawn = svg(series, 8, title="</title><script>x</script>")
    root = ElementTree.fromstring(drawn)
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert "script" not in tags
    assert tags.count("polyline") == 2
    assert re.findall(r"https?://[^\"]+", drawn) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|@import|font-face|url\((?!#)", drawn)
    assert svg(series, 8, title="</title><script>x</script>") == drawn
    assert "<b>&\"none'" in "".join(root.itertext())
