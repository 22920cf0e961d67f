"""CONTRIBUTING.md's recipe for a compaction strategy, followed in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from amplifier_module_context_persistent.session.event_names import EVENTS
from tests.support.places import DOCS, ROOT
from tests.support.sweeps import proof

COPIED = ("amplifier_module_context_persistent", "benchmarks", "docs", "fixtures", "tests")

LOSS = '''
class Oldest(Loss):
    """The oldest groups first; nothing is cut."""

    def price(self, position: int, form: Form) -> float:
        """By age."""
        return position if form.entry is None else inf


STRATEGIES: Mapping'''

SELECTED = "drop_oldest or test_the_oldest_go_first or of_options"

TEST = '''

def test_the_oldest_go_first() -> None:
    """As many as have to."""
    made = draft("u:10 a:90 t:90 a:90 u:10 a:90", 300, protected_recent=0.0)
    choice(made, loss=STRATEGIES["drop_oldest"].loss)
    assert kept(made) == "0 2 3 4 5"
'''


def replaced(before: str, after: str) -> Callable[[str], str]:
    def replace(text: str) -> str:
        assert text.count(before) == 1, before
        return text.replace(before, after)

    return replace


def added(last: str) -> Callable[[str], str]:
    return lambda text: text + last


EDITS: dict[str, Callable[[str], str]] = {
    "amplifier_module_context_persistent/compaction/strategies.py": lambda text: replaced(
        '    "importance": ', '    "drop_oldest": Strategy(loss=Oldest),\n    "importance": '
    )(
        replaced("\nSTRATEGIES: Mapping", LOSS)(
            replaced("\nfrom typing", "\nfrom math import inf\nfrom typing")(
                replaced("from .losses", "from .shorter_forms import Form\nfrom .losses")(text)
            )
        )
    ),
    "amplifier_module_context_persistent/config/option_table.py": replaced(
        '"sliding_window", "importance"]', '"sliding_window", "drop_oldest", "importance"]'
    ),
    "tests/compaction/test_strategies.py": added(TEST),
    "docs/configuration.md": str,  # written by a command
    "docs/compaction.md": replaced("| `importance` |", "| `drop_oldest` | The oldest. | Never. |\n| `importance` |"),
    "CHANGELOG.md": replaced("## [Unreleased]\n", "## [Unreleased]\n\n- A strategy `drop_oldest`.\n"),
}
"""What a person does to each file that the recipe names."""


def run(root: Path, *arguments: str) -> str:
    """Run Python in the copy."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@proof
def test_the_recipe_of_a_strategy_is_all_that_it_takes(tmp_path: Path) -> None:
    """The files that it names, and no other; then the project's tests take the strategy in."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = page.partition("### Add a compaction strategy")[2].partition("\n### ")[0]
    paths = re.findall(r"^\d+\. `([\w./-]+)`:", recipe, re.MULTILINE)
    assert sorted(paths) == sorted(EDITS)
    for directory in COPIED:
        shutil.copytree(ROOT / directory, tmp_path / directory, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for path in paths:
        text = (tmp_path / path).read_text(encoding="utf-8")
        (tmp_path / path).write_text(EDITS[path](text), encoding="utf-8")
    (command,) = re.findall(r"`docs/configuration.md`: run `python ([^`]+)`", recipe)
    run(tmp_path, *command.split())
    of_options = ("tests/config/test_option_table.py", "tests/docs/test_configuration.py")
    tests = ("tests/compaction/test_strategies.py", *of_options)
    passed = run(
        tmp_path, "-m", "pytest", "--proof", "-q", "-n", "0", "-p", "no:cacheprovider", *tests, "-rA", "-k", SELECTED
    )
    assert "test_every_strategy_keeps_the_rules_and_the_budget[drop_oldest]" in passed


PAGE = (DOCS / "events.md").read_text(encoding="utf-8")


def test_every_event_is_named() -> None:
    """Each event that the module contributes is documented."""
    assert EVENTS
    assert [event for event in EVENTS if f"`{event}`" not in PAGE] == []
