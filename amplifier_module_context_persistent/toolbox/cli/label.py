"""`context-persistent rename` and `tag`: give a session a name and tags.

Exit codes: 0 done, 2 nothing was done.
"""

from __future__ import annotations

import json

import click

from ...sessions.session_name import read_name
from ..transfer.label_session import Label, rename_session, tag_session
from .error_messages import short_name, unusable
from .session_argument import SessionFirst, session_argument, session_name
from .terminal import one_line, say


@click.command(cls=SessionFirst)
@session_argument
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def rename(path: str, name: str, *, as_json: bool) -> None:
    """Call SESSION by NAME, in every list, search and report.

    The name is kept in the session's log and in copies of it. If NAME is empty, the name that a host gave the session
    is used again. Other commands accept the name in place of the session's id: `show "NAME"`.
    """
    with unusable(short_name(path)):
        outcome = rename_session(path, name)
        new_name = read_name(path).name
    if as_json:
        _print(path, outcome, new_name)
        return
    called = f"is called {one_line(new_name)}" if new_name else "has no name"
    already = "" if outcome.is_new else " already"
    say(f"{session_name(path)} {called}{already}")


@click.command(cls=SessionFirst)
@session_argument
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--remove", "removed", metavar="TAG", multiple=True, help="Remove this tag. May be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
def tag(path: str, tags: tuple[str, ...], removed: tuple[str, ...], *, as_json: bool) -> None:
    """Put each TAG on SESSION; without one, show its tags.

    `list --tag TAG`, and `--tag` with every command that looks at many sessions, find them again.
    """
    with unusable(short_name(path)):
        if tags or removed:
            done = tag_session(path, tags, removed)
        else:
            known = read_name(path)
            done = Label(known.name, known.tags, is_new=False)
    if as_json:
        _print(path, done, read_name(path).name)
        return
    say(f"{session_name(path)}: {', '.join(map(one_line, done.tags)) or 'no tags'}")


def _print(path: str, done: Label, name: str) -> None:
    result = {
        "session": session_name(path),
        "path": path,
        "name": name,
        "tags": list(done.tags),
        "changed": done.is_new,
    }
    click.echo(json.dumps(result))
