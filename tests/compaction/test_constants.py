"""The numbers that the engine was tuned with: few, each in one place, each with what it is."""

import ast
from pathlib import Path

from amplifier_module_context_persistent import compaction

MOST = 36
NOT_TUNED = {"provider_limits.py"}
"""Numbers that providers publish."""


def numbers(path: Path) -> list[str]:
    """The numbers that a module names."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            tuned = [one for one in values if isinstance(one, ast.Constant) and type(one.value) in (int, float)]
            found += [ast.unparse(node.targets[0])] * len(tuned)
    return found


def test_there_are_few_of_them() -> None:
    """Who adds one takes another away; there were 73 once."""
    files = [path for path in Path(compaction.__path__[0]).glob("*.py") if path.name not in NOT_TUNED]
    assert len(files) > 10
    found = [one for path in files for one in numbers(path)]
    assert 20 < len(found) <= MOST, sorted(found)
