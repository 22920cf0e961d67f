"""Ask the person for a confirmation, before something is deleted or changed."""

from __future__ import annotations

import click

from .error_messages import UnusableError
from .exit_codes import UNUSABLE
from .terminal import say


def ask(question: str, *, yes: bool) -> None:
    """Ask a person to confirm; do nothing if `yes` is true, because the confirmation was given as an option.

    Raises:
        Exit: the user refuses, and a message was printed.
        UnusableError: nobody can answer.
        KeyboardInterrupt: Ctrl-C.
    """
    if yes:
        return
    try:
        agreed = click.confirm(question)
    except click.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        click.echo()
        raise UnusableError("nothing was done; answer y, or add --yes if nobody can answer") from error
    if not agreed:
        say("Nothing was done.")
        raise click.exceptions.Exit(UNUSABLE)


def check_can_ask(*, as_json: bool, yes: bool, dry_run: bool) -> None:
    """Check that a command that prints JSON need not ask a question.

    Raises:
        UsageError: the command would have to ask.
    """
    if as_json and not (yes or dry_run):
        raise click.UsageError("--json cannot ask; add --yes or --dry-run")
