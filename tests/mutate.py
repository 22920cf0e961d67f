"""Change the code of the log in one place at a time, and count how many of the changes its quick tests notice.

    python -m tests.mutate --sample 400 --seed 2026

Each mutant is run in a process of its own, forked here so that little is imported twice, against the unit tests of its
module. It counts as killed if a test fails, or if the tests do not end in time. Those that survive are listed with
their place. It takes minutes to an hour and is not part of the tests.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import resource
import signal
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "amplifier_module_context_persistent.log"
_OF_LINES = ["log/test_scanner.py", "log/test_resets.py", "log/test_old_resets.py", "log/test_golden.py"]
TESTS = {
    "record": ["log/test_record.py", "log/test_scanner.py", "log/test_golden.py"],
    "scanner": [*_OF_LINES, "log/test_chain.py", "log/test_strange.py", "log/test_checkpoint.py"],
    "index_builder": ["log/test_index_builder.py", *_OF_LINES, "log/test_index.py", "log/test_checkpoint.py"],
    "group_commit": ["log/test_group_commit.py"],
}
SLOW = "not flipped_bit"
"""What is left out: all bits of a log, flipped."""
CPU_SECONDS, IDLE_SECONDS, WALL_SECONDS = 60, 30, 300

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

Mutation = tuple[int, str, Callable[[], ast.Module]]
"""A line, what is changed there, and what makes the changed module."""


def variants(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """What may be changed at a node: a description, and a function that gives what takes its place."""
    if isinstance(node, ast.Compare):
        other = _COMPARE[type(node.ops[0])]

        def compare(copied: ast.AST) -> ast.AST:
            assert isinstance(copied, ast.Compare)
            copied.ops[0] = other()
            return copied

        yield f"{type(node.ops[0]).__name__} becomes {other.__name__}", compare
    elif isinstance(node, ast.BoolOp):
        turned = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} becomes {turned.__name__}", lambda n: _with(n, op=turned())
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        operator = _ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} becomes {operator.__name__}", lambda n: _with(n, op=operator())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not is left out", lambda n: n.operand if isinstance(n, ast.UnaryOp) else n
    elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        value = (not node.value) if isinstance(node.value, bool) else int(str(node.value)) + 1
        yield f"{node.value!r} becomes {value!r}", lambda n: _with(n, value=value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bytes) and node.value:
        changed = b"\x01" + node.value[1:]
        yield f"{node.value!r} is changed", lambda n: _with(n, value=changed)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "nothing is returned", lambda n: _with(n, value=ast.Constant(None))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "the condition is turned", lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))  # type: ignore[attr-defined]
    if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Raise | ast.Continue):
        yield "the statement is left out", lambda _: ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def mutations(source: str) -> list[Mutation]:
    """Every mutant of a module, in the order of its lines; texts, annotations and imports stay."""
    tree = ast.parse(source)
    found: list[Mutation] = []
    for place, (node, _) in enumerate(_places(tree)):
        for what, change in variants(node):

            def make(place: int = place, change: Callable[[ast.AST], ast.AST] = change) -> ast.Module:
                mutant = copy.deepcopy(tree)
                target, replace = list(_places(mutant))[place]
                replace(change(target))
                return ast.fix_missing_locations(mutant)

            found.append((getattr(node, "lineno", 0), what, make))
    return found


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None]]]:
    """The nodes below a node that may be changed, each with what puts another one in its place."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        children = value if isinstance(value, list) else [value]
        for at, child in enumerate(children):
            if not isinstance(child, ast.AST) or isinstance(child, ast.Import | ast.ImportFrom) or _is_text(child):
                continue

            def replace(new: ast.AST, at: int = at, name: str = name, value: object = value) -> None:
                if isinstance(value, list):
                    value[at] = new
                else:
                    setattr(node, name, new)

            yield child, replace
            yield from _places(child)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module as its mutant."""

    def __init__(self, name: str, path: Path, code: types.CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self._code, module.__dict__)


def survives(module: str, make: Callable[[], ast.Module] | None) -> bool:
    """Whether the tests of a module pass with its mutant, or with the module as it is."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = _run(module, make() if make is not None else None)
        finally:
            os._exit(code)
    now = time.monotonic()
    deadline, moved, used = now + WALL_SECONDS, now, 0
    while time.monotonic() < min(deadline, moved + IDLE_SECONDS):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        if (ticks := _ticks(pid)) != used:
            moved, used = time.monotonic(), ticks
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _ticks(pid: int) -> int:
    """The processor time that a process has used; one that waits for ever uses none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return time.monotonic_ns()
    return int(fields[11]) + int(fields[12])


def _run(module: str, mutant: ast.Module | None) -> int:
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    name, path = f"{PACKAGE}.{module}", ROOT / PACKAGE.replace(".", "/") / f"{module}.py"
    if mutant is not None:
        sys.meta_path.insert(0, _Mutated(name, path, compile(mutant, str(path), "exec")))
    tests = [str(ROOT / "tests" / test) for test in TESTS[module]]
    return int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "-k", SLOW, *tests]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants, of all modules together")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--module", choices=list(TESTS), action="append", help="only this one; may be repeated")
    options = parser.parse_args()
    import pytest  # noqa: F401 - once for all mutants

    modules = options.module or list(TESTS)
    everything: list[tuple[str, Mutation]] = []
    for module in modules:
        if not survives(module, None):
            sys.exit(f"the tests of {module} fail as it is; run them by themselves")
        source = (ROOT / PACKAGE.replace(".", "/") / f"{module}.py").read_text(encoding="utf-8")
        everything += [(module, mutation) for mutation in mutations(source)]
    sample = random.Random(options.seed).sample(everything, min(options.sample, len(everything)))
    sample.sort(key=lambda one: (one[0], one[1][0]))
    tried, killed = Counter[str](), Counter[str]()
    for module, (line, what, make) in sample:
        tried[module] += 1
        if survives(module, make):
            print(f"survived: log/{module}.py:{line}: {what}", flush=True)
        else:
            killed[module] += 1
    for module in modules:
        print(f"{module}: {killed[module]} of {tried[module]} killed")
    print(f"all: {killed.total()} of {tried.total()} killed, of {len(everything):,} possible mutants")


if __name__ == "__main__":
    main()
