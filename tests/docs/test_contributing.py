"""CONTRIBUTING.md's recipes name files that exist, and its commands can be started."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from tests.support.places import ROOT
from tests.support.sweeps import proof

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = {
    title: re.findall(r"^\d+\. `([\w./-]+)`:", text, re.MULTILINE)
    for title, text in re.findall(r"^### (Add .*?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
"""The files of each recipe, in order."""

BENCHMARKS = sorted(set(re.findall(r"^\| `python -m (benchmarks\.\w+)` \|", PAGE, re.MULTILINE)))


def test_each_extension_has_a_recipe() -> None:
    """What people add: a strategy, a record kind, a command, an import format, a form, a log."""
    assert [title.removeprefix("Add ") for title in RECIPES] == [
        "a compaction strategy",
        "a record kind",
        "a command",
        "an import format",
        "a form of messages",
        "a log implementation",
    ]


@pytest.mark.parametrize("title", sorted(RECIPES))
def test_a_recipe_names_files_that_exist(title: str) -> None:
    """Code, tests, documentation and the changelog; each is there."""
    paths = RECIPES[title]
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    assert paths[-1] == "CHANGELOG.md"
    for directory in ("amplifier_module_context_persistent/", "tests/", "docs/"):
        assert any(path.startswith(directory) for path in paths), directory


def test_every_benchmark_is_listed() -> None:
    """A benchmark is a module with a `main`; what only fits tables or draws pictures is none."""
    modules = {
        f"benchmarks.{path.stem}"
        for path in (ROOT / "benchmarks").glob("*.py")
        if "\ndef main(" in path.read_text(encoding="utf-8")
    }
    assert modules - {"benchmarks.fit_rare", "benchmarks.fit_tables", "benchmarks.fit_tokens"} == set(BENCHMARKS)


@proof(quick=1)
@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_a_benchmark_starts(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs as the page says; in this process, as most of the time goes into imports."""
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    assert not ended.value.code
    assert "usage: " in capsys.readouterr().out
