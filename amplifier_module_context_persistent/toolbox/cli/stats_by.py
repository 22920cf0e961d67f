"""`stats --by project,model`: the criteria by which the totals of many sessions are grouped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ...sessions.totals import BY

_MOST = 2

if TYPE_CHECKING:
    _Base = click.ParamType[tuple[str, ...]]
else:
    _Base = click.ParamType  # older versions of click have no generic one


class ByType(_Base):
    """The type of `--by`: one criterion of `totals.BY`, or several with commas between them."""

    name = "WHAT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Parse the criteria."""
        names = tuple(value.split(",")) if isinstance(value, str) else tuple(value)
        for name in names:
            if name not in BY:
                self.fail(f"{name!r} is none of {', '.join(BY)}", param, ctx)
        return names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the completions of the last criterion."""
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{name}") for name in BY if name.startswith(last)]


def two_at_most(criteria: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the criteria of all options `--by`: none, one or two.

    Raises:
        UsageError: there are more than two criteria, one is given twice, or they are `model` and `tool`.
    """
    names = tuple(name for names_of_option in criteria for name in names_of_option)
    if len(names) > _MOST or len(set(names)) < len(names):
        raise click.UsageError("--by takes one, or two different ones, as in project,model; `sql` answers the rest")
    if set(names) == {"model", "tool"}:
        raise click.UsageError("requests have a model and calls have a tool: give only one of the two to --by")
    return names
