"""The options with a person's own forms of secrets, which are redacted, too."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .error_messages import reason
from .terminal import one_line

if TYPE_CHECKING:
    from ...messages.secrets.own_forms import OwnForms

R = TypeVar("R")


def own_forms_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add `--redact-file` and `--redact-values` to a command.

    The command gets the expressions and values to replace as `own`. Without these options, `own` is None.
    """

    @click.option(
        "--redact-file",
        metavar="FILE",
        envvar="CONTEXT_PERSISTENT_REDACT_FILE",
        help="Also replace the matches of the expressions in this file, one a line.",
    )
    @click.option(
        "--redact-values",
        metavar="NAMES",
        envvar="CONTEXT_PERSISTENT_REDACT_VALUES",
        help="Also replace the values of these environment variables: A,B.",
    )
    @functools.wraps(command)
    def given(*arguments: Any, redact_file: str | None, redact_values: str | None, **options: Any) -> R:
        return command(*arguments, own=_own(redact_file, redact_values), **options)

    return given


def _own(file: str | None, values: str | None) -> OwnForms | None:
    names = [name.strip() for name in (values or "").split(",") if name.strip()]
    if file is None and not names:
        return None
    from ...messages.secrets.own_forms import OwnForms, OwnFormsError, own_forms

    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines() if file is not None else []
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--redact-file {one_line(str(file))}: {reason(error)}") from error
    try:
        expressions = own_forms(lines)
    except OwnFormsError as error:
        raise click.UsageError(f"--redact-file {one_line(str(file))}, {one_line(str(error))}") from error
    try:
        return OwnForms(expressions.expressions, own_forms(names=names, environment=os.environ).values)
    except OwnFormsError as error:
        raise click.UsageError(f"--redact-values: {one_line(str(error))}") from error
