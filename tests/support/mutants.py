"""Mutants of a module: its source, changed in one place. Pure: source comes in, syntax trees go out.

A mutant is known by what is changed, not by its line, so a change elsewhere in a module leaves it what it is. A sample
is chosen by a hash of that name: most of it stays the same when the code changes.

One kind of change is not made, since no test could notice it: `strict=True` of `zip` states that both sides are of one
length. Where they are, as in sound code, `False` gives the same.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module.

    Attributes:
        name: what is changed: module, function, code, change, and a number where that is there more than once.
        line: the line of the change.
        last_line: the line where what is changed ends.
        what: the change, in words.
        make: makes the tree of the changed module.
    """

    name: str
    line: int
    last_line: int
    what: str
    make: Callable[[], ast.Module]


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
    elif isinstance(node, ast.Return) and node.value is not None and not _is_nothing(node.value):
        yield "nothing is returned", lambda n: _with(n, value=ast.Constant(None))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "the condition is turned", lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))  # type: ignore[attr-defined]
    if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Raise | ast.Continue):
        yield "the statement is left out", lambda _: ast.Pass()


def _is_nothing(value: ast.expr) -> bool:
    """Whether a value is None already, or True or False, which are changed by themselves."""
    return isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, bool))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines; texts, annotations and imports stay."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    known = Counter[str]()
    for place, (node, scope, _) in enumerate(_places(tree, module)):
        for what, change in variants(node):

            def make(place: int = place, change: Callable[[ast.AST], ast.AST] = change) -> ast.Module:
                mutant = copy.deepcopy(tree)
                target, _, replace = list(_places(mutant, ""))[place]
                replace(change(target))
                return ast.fix_missing_locations(mutant)

            name = f"{scope}: {ast.unparse(node)[:200]}: {what}"
            known[name] += 1
            line = getattr(node, "lineno", 0)
            last_line = getattr(node, "end_lineno", line)
            found.append(Mutant(f"{name} ({known[name]})", line, last_line, what, make))
    return found


def sample_of(mutants: Iterable[Mutant], count: int, seed: object) -> list[Mutant]:
    """Choose so many by the hashes of their names; they keep their order."""
    every = list(mutants)
    ranked = sorted(every, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    chosen = {mutant.name for mutant in ranked[:count]}
    return [mutant for mutant in every if mutant.name in chosen]


def _places(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str, Callable[[ast.AST], None]]]:
    """The nodes below a node that may be changed, each with its scope and with what puts another one in its place."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        children = value if isinstance(value, list) else [value]
        for at, child in enumerate(children):
            if not isinstance(child, ast.AST) or isinstance(child, ast.Import | ast.ImportFrom) or _stays(child):
                continue

            def replace(new: ast.AST, at: int = at, name: str = name, value: object = value) -> None:
                if isinstance(value, list):
                    value[at] = new
                else:
                    setattr(node, name, new)

            yield child, scope, replace
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            yield from _places(child, f"{scope}.{child.name}" if named else scope)


def _stays(node: ast.AST) -> bool:
    """Whether a node is a text alone, or states that both sides of a `zip` are of one length."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.keyword) and ast.unparse(node) == "strict=True")
