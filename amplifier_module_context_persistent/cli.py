"""The `context-persistent` command."""

from __future__ import annotations

import click

from . import __version__
from .cli_log import purge, repair, verify
from .cli_stats import stats
from .cli_views import view, views
from .demo import demo


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="context-persistent")
def main() -> None:
    """Durable memory for long-running Amplifier agent sessions."""


main.add_command(demo)
main.add_command(stats)
main.add_command(views)
main.add_command(view)
main.add_command(verify)
main.add_command(repair)
main.add_command(purge)
