"""`docs/cli.md` names every command, the commands that any page shows can be parsed, and `--help` says the rest."""

from __future__ import annotations

import re
import shlex

import click
import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli.command_table import SECTIONS, TABLE
from amplifier_module_context_persistent.toolbox.cli.main import main as command
from tests.support.places import DOCS

PAGE = DOCS / "cli.md"
SHOWN = re.compile(r"`context-persistent ([^`]+)`|^(?:\$ |    )?context-persistent (.*?)(?: +#.*)?$", re.MULTILINE)


def examples_of(text: str) -> list[str]:
    """The commands in a text and in its blocks of code, without `context-persistent`."""
    found = [inline or line for inline, line in SHOWN.findall(text)]
    return [one for one in found if "COMMAND" not in one and one[0] != "-"]


EXAMPLES = {path.name: found for path in DOCS.glob("*.md") if (found := examples_of(path.read_text(encoding="utf-8")))}
"""The commands that each page shows."""


def help_of(name: str) -> str:
    """What a command says of itself, in 80 columns."""
    told = CliRunner().invoke(command, [name, "--help"], prog_name="context-persistent", env={"COLUMNS": "80"})
    assert told.exit_code == 0
    return told.output.rstrip()


def test_the_page_names_every_command() -> None:
    """In the section that lists them, in the help's order, and what `--help` says is not pasted into it."""
    page = PAGE.read_text(encoding="utf-8")
    listed = page.partition("## Every command")[2]
    assert re.findall(r"`([a-z-]+)`", listed.partition("- **")[2]) == command.list_commands(click.Context(command))
    assert "Usage:" not in page


@pytest.mark.parametrize("name", sorted(TABLE))
def test_help_fits_80_columns(name: str) -> None:
    """No line of it is longer, and it begins with what the command does."""
    told = help_of(name)
    assert max(map(len, told.splitlines())) <= 80
    assert TABLE[name].load().help


@pytest.mark.parametrize("page", sorted(EXAMPLES))
def test_examples_name_commands_and_options_that_there_are(page: str) -> None:
    """Each command that a page shows can be parsed."""
    for example in EXAMPLES[page]:
        name, *arguments = shlex.split(example)
        parser: click.Command = TABLE[name].load()
        parent = click.Context(command, **command.context_settings)  # or a command remembers that it has no `-h`
        if isinstance(parser, click.Group):
            found = parser.get_command(parent, arguments.pop(0))
            assert found is not None, example
            parser = found
        parser.make_context(name, [*arguments], parent=parent, resilient_parsing=True)
        options = {option for parameter in parser.params for option in parameter.opts} | {"--help"}
        assert {argument for argument in arguments if re.match(r"--?[a-zA-Z]", argument)} <= options, example


def test_the_page_of_commands_has_examples() -> None:
    """The test above has some to look at."""
    assert EXAMPLES["cli.md"]


def test_sections_name_each_command_once() -> None:
    """The help's sections do not overlap."""
    names = [name for section in SECTIONS.values() for name in section]
    assert len(names) == len(set(names))
