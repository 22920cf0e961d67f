"""Put a mutant into a module that is imported already: functions get the code of the mutant.

So thousands of tests are collected once, and each mutant costs no more than the tests that run. What is made as a
module is imported (its tables, the defaults of its functions and fields) cannot be changed that way: such a mutant has
to be imported in the module's place.
"""

import gc
from collections.abc import Iterator
from types import CodeType, FunctionType

Key = tuple[str, int, int]
"""The name of a function within its module, its first line, and its number among those of one name and line."""

_IS_FUNCTION = 0x1
"""The flag of code that has variables of its own: functions, not modules and classes."""
_RUN_AT_ONCE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a module or class, and the functions and classes in it; not what is within functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & _IS_FUNCTION:
                yield constant
            else:
                yield from _codes(constant)


def _by_key(code: CodeType) -> dict[Key, CodeType]:
    found: dict[Key, CodeType] = {}
    for one in _codes(code):
        number = 0
        while (one.co_qualname, one.co_firstlineno, number) in found:
            number += 1
        found[one.co_qualname, one.co_firstlineno, number] = one
    return found


def _runs_alike(code: CodeType, other: CodeType) -> bool:
    """Whether two modules or classes do the same as they are imported, but for what their functions do."""

    def own(of: CodeType) -> list[tuple[str, object]]:
        return [(type(one).__name__, one) for one in of.co_consts if not isinstance(one, CodeType)]

    return (code.co_code, code.co_names, own(code)) == (other.co_code, other.co_names, own(other))


def changed_functions(code: CodeType, mutant: CodeType) -> dict[Key, CodeType] | None:
    """The functions of a module that differ in a mutant of it, with their new code; None if it has to be imported."""
    before, after = _by_key(code), _by_key(mutant)
    if before.keys() != after.keys():
        return None
    changed = {key: new for key, new in after.items() if new != before[key]}
    for key in list(changed):
        if changed[key].co_flags & _IS_FUNCTION:
            names_itself_alone = key[2] == 0 and (*key[:2], 1) not in before
            if changed[key].co_name in _RUN_AT_ONCE or not names_itself_alone:
                return None
            if changed[key].co_freevars != before[key].co_freevars:
                return None
        elif _runs_alike(before[key], changed.pop(key)):
            continue
        else:
            return None
    return changed


def put_into_functions(path: str, changed: dict[Key, CodeType]) -> bool:
    """Give living functions of a file their new code; whether each of them was found."""
    found = set[Key]()
    gc.unfreeze()  # else nobody is told of what was there when the tests had been collected
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == path:
            key = (one.__code__.co_qualname, one.__code__.co_firstlineno, 0)
            if new := changed.get(key):
                one.__code__ = new
                found.add(key)
    gc.freeze()
    return found == changed.keys()
