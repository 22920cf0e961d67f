"""What a reader of `help(amplifier_module_context_persistent)` meets."""

from __future__ import annotations

import inspect
import pydoc
from types import ModuleType

import pytest

import amplifier_module_context_persistent as package
from amplifier_module_context_persistent.toolbox import replay


@pytest.mark.parametrize("name", package.__all__)
def test_each_public_name_is_documented(name: str) -> None:
    """With a text of its own, and so is each public method that it defines."""
    named = getattr(package, name)
    assert named.__doc__
    assert all(named.__doc__ != base.__doc__ for base in getattr(named, "__mro__", ())[1:])
    if inspect.isclass(named):
        methods = [method for key, method in vars(named).items() if callable(method) and not key.startswith("_")]
        assert [method.__qualname__ for method in methods if not method.__doc__] == []


def test_help_shows_the_public_names() -> None:
    """Each has its entry; the packages below are few enough to be read."""
    text = pydoc.plain(pydoc.render_doc(package))
    for name in package.__all__:
        value = getattr(package, name)
        kind = "class " if inspect.isclass(value) else "async " if inspect.iscoroutinefunction(value) else ""
        assert f"    {kind}{name}(" in text
    contents = text.partition("PACKAGE CONTENTS\n")[2].partition("\n\n")[0].splitlines()
    assert 10 < len(contents) < 25


@pytest.mark.parametrize("module", [package, replay], ids=lambda module: module.__name__)
def test_a_module_lists_what_it_imports_on_first_use(module: ModuleType) -> None:
    """Completion in a shell offers each public name, and each is there."""
    assert set(module.__all__) <= set(dir(module))
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert not hasattr(module, "no_such_name")
