"""Commands, run in this process, and what they print."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping
from typing import Any
from unittest import mock

from click.testing import CliRunner, Result

from amplifier_module_context_persistent.toolbox.cli import progress
from amplifier_module_context_persistent.toolbox.cli.main import main

PLAIN = {"COLUMNS": "80", "NO_COLOR": "1"}


def without_colours(output: str) -> str:
    """What a terminal shows."""
    return re.sub(r"\x1b\[[0-9;]*m", "", output)


def is_harmless(output: str) -> bool:
    """Whether nothing but printable text, line breaks and colours would reach a terminal."""
    return without_colours(output).replace("\n", "").isprintable()


def run(
    *arguments: Any,
    code: int | None = 0,
    env: Mapping[str, str] = PLAIN,
    answer: str | None = None,
    charset: str = "utf-8",
) -> Result:
    """Run a command: it ends with this exit code, or with any where that is None; never with a traceback.

    Nothing that a terminal acts on reaches a pipe. `charset` is what the output is written in.
    """
    with mock.patch(f"{progress.__name__}.LINE_EVERY_S", math.inf):  # a slow machine says no more than a quick one
        done = CliRunner(charset).invoke(main, [str(argument) for argument in arguments], env=dict(env), input=answer)
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert code in (done.exit_code, None), done.output
    assert env is not PLAIN or "\x1b" not in done.output
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
