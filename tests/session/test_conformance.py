"""The conformance classes and the validator of amplifier-core, on the package as it is installed."""

import os
from pathlib import Path

import pytest
from amplifier_core.validation import ContextValidator
from amplifier_core.validation.behavioral import ContextBehaviorTests
from amplifier_core.validation.structural import ContextStructuralTests

import amplifier_module_context_persistent

PACKAGE = Path(amplifier_module_context_persistent.__file__).parent


@pytest.fixture
def module_path() -> Path:
    """The package's directory: amplifier-core's plugin would look for it by the name of the checkout's."""
    return PACKAGE


class TestBehavior(ContextBehaviorTests):
    """The behaviour that every context module owes."""


class TestStructure(ContextStructuralTests):
    """The structure that every context module owes."""


def test_the_fixtures_mount_this_package(context_module: object) -> None:
    """The inherited tests run against the manager of this package, with its log below the temporary home."""
    assert type(context_module).__name__ == "PersistentContextManager"
    assert str(getattr(context_module, "log_path", "")).startswith(str(Path.home()))


async def test_an_empty_message_is_refused_as_a_value_error(context_module: object) -> None:
    """`add_message({})` raises ValueError and stores nothing."""
    with pytest.raises(ValueError, match=r"message\.role"):
        await context_module.add_message({})  # type: ignore[attr-defined]
    assert await context_module.get_messages() == []  # type: ignore[attr-defined]


async def test_the_validator_finds_all_that_it_looks_for(home: Path) -> None:
    """Nine checks of nine: the module, `mount`, its signature, the protocol, and each method; nothing stays behind."""
    result = await ContextValidator().validate(PACKAGE)
    checks = {check.name: (check.passed, check.severity) for check in result.checks}
    methods = ("add_message", "get_messages_for_request", "get_messages", "set_messages", "clear")
    named = ["module_importable", "mount_exists", "mount_signature", "protocol_compliance"]
    assert checks == dict.fromkeys([*named, *(f"context_{name}" for name in methods)], (True, "info"))
    assert not os.listdir(home)
