"""`context-persistent mcp`: serve past sessions to agents, over the Model Context Protocol."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from ...installation import needs_extra
from .error_messages import UnusableError
from .session_argument import storage, storage_option


@click.command("mcp")
@storage_option
@click.option(
    "--project",
    "directory",
    type=click.Path(exists=True, file_okay=False),
    help="The directory whose project's sessions are served; by default this one.",
)
@click.option("--all", "everywhere", is_flag=True, help="The sessions of all projects.")
def mcp(*, directory: str | None, everywhere: bool) -> None:
    """Serve past sessions to agents, over standard input and output (Model Context Protocol).

    Agents search, read and list the sessions of this project, and ask which files were touched. They get texts without
    secrets, as exports have them. Which sessions are served is fixed here; nothing that an agent asks widens it. The
    server writes nothing. docs/mcp.md has the line that adds it to each agent.
    """
    if directory is not None and everywhere:
        raise click.UsageError("give either --all or --project")
    if find_spec("mcp") is None:
        raise UnusableError(needs_extra("mcp", "mcp"))
    from ..mcp.scope import Scope
    from ..mcp.server import serve

    where = None if everywhere else Path(directory or ".").resolve()
    serve(Scope(where, storage()))
