"""The options `--redact-file` and `--redact-values`: what a person has replaced besides what is recognised."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..messages.secrets import OwnForms, OwnFormsError, own_forms
from .terminal import one_line, reason

R = TypeVar("R")


def own_forms_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the two options; it gets what they name as `own`, None where neither is given."""

    @click.option(
        "--redact-file",
        metavar="FILE",
        envvar="CONTEXT_PERSISTENT_REDACT_FILE",
        help="Replace what these expressions match too: one a line.",
    )
    @click.option(
        "--redact-values",
        metavar="NAMES",
        envvar="CONTEXT_PERSISTENT_REDACT_VALUES",
        help="Replace the contents of these environment variables too: A,B.",
    )
    @functools.wraps(command)
    def given(*arguments: Any, redact_file: str | None, redact_values: str | None, **options: Any) -> R:
        return command(*arguments, own=_own(redact_file, redact_values), **options)

    return given


def _own(file: str | None, values: str | None) -> OwnForms | None:
    names = [name.strip() for name in (values or "").split(",") if name.strip()]
    if file is None and not names:
        return None
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
