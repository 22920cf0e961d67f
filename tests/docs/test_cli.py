"""`docs/cli.md` names every command, its examples can be run, and `--help` says the rest."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli.main import SECTIONS, TABLE
from amplifier_module_context_persistent.toolbox.cli.main import main as command
from tests.support.places import DOCS

PAGE = DOCS / "cli.md"


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


def test_examples_name_commands_and_options_that_there_are() -> None:
    """Each command of the page's questions can be parsed."""
    page = PAGE.read_text(encoding="utf-8")
    examples = [
        one for one in re.findall(r"`context-persistent ([^`]+)`", page) if "COMMAND" not in one and one[0] != "-"
    ]
    assert len(examples) > 20
    for example in examples:
        name, *arguments = re.findall(r"'[^']*'|\S+", example)
        parser = TABLE[name].load()
        parent = click.Context(command, **command.context_settings)  # or a command remembers that it has no `-h`
        parser.make_context(name, [one.strip("'") for one in arguments], parent=parent, resilient_parsing=True)
        options = {option for parameter in parser.params for option in parameter.opts}
        assert {argument for argument in arguments if re.match(r"--?[a-zA-Z]", argument)} <= options, example


def test_sections_name_each_command_once() -> None:
    """The help's sections do not overlap."""
    names = [name for section in SECTIONS.values() for name in section]
    assert len(names) == len(set(names))
