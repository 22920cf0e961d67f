"""Commands, run in this process, and what they print."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from click.testing import CliRunner, Result

from amplifier_module_context_persistent.cli.main import main

PLAIN = {"COLUMNS": "80", "NO_COLOR": "1"}


def run(*arguments: Any, code: int | None = 0, env: Mapping[str, str] = PLAIN, answer: str | None = None) -> Result:
    """Run a command: it ends with this exit code, or with any where that is None; never with a traceback."""
    done = CliRunner().invoke(main, [str(argument) for argument in arguments], env=dict(env), input=answer)
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert code in (done.exit_code, None), done.output
    return done


def refused(*arguments: Any) -> str:
    """The error of a command that does nothing."""
    done = run(*arguments, code=2)
    assert "Error: " in done.stderr
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def shows(text: Container[str], *parts: str) -> None:
    """Each of these stands in a text, or in a list."""
    assert [part for part in parts if part not in text] == [], text
