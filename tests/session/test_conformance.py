"""The conformance classes and the validator of amplifier-core, on the package as it is installed."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from amplifier_core.validation import ContextValidator
from amplifier_core.validation.behavioral import ContextBehaviorTests
from amplifier_core.validation.structural import ContextStructuralTests

import amplifier_module_context_persistent
from tests.support.commands import shows

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


def test_the_validator_passes_without_a_warning(home: Path) -> None:
    """`amplifier-core validate context` passes on the package's directory and leaves nothing behind."""
    command = shutil.which("amplifier-core", path=str(Path(sys.executable).parent)) or shutil.which("amplifier-core")
    assert command, "amplifier-core's command is not installed beside the interpreter"
    run = subprocess.run(
        [command, "validate", "context", PACKAGE.name], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=60
    )
    # amplifier-core 2.0.2 may abort or crash when the interpreter is finalised, after everything was printed.
    ended = run.returncode in (0, -signal.SIGSEGV) or "Python runtime state: finalizing" in run.stderr
    assert ended, run.stdout + run.stderr
    shows(run.stdout, "PASSED", "0 errors, 0 warnings")
    assert not list(home.iterdir())


async def test_the_validator_finds_all_that_it_looks_for() -> None:
    """Nine checks of nine: the module, `mount`, its signature, the protocol, and each of the five methods."""
    result = await ContextValidator().validate(PACKAGE)
    checks = {check.name: (check.passed, check.severity) for check in result.checks}
    methods = ("add_message", "get_messages_for_request", "get_messages", "set_messages", "clear")
    named = ["module_importable", "mount_exists", "mount_signature", "protocol_compliance"]
    assert checks == dict.fromkeys([*named, *(f"context_{name}" for name in methods)], (True, "info"))
