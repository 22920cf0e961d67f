"""`docs/cli.md` says what `--help` says. `python -m tests.docs.test_cli` writes that part of it anew."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli.main import SECTIONS, TABLE
from amplifier_module_context_persistent.toolbox.cli.main import main as command
from tests.support.places import DOCS

PAGE = DOCS / "cli.md"
START, END = "<!-- from here on written by `python -m tests.docs.test_cli` -->", "<!-- up to here -->"


def help_of(name: str) -> str:
    """What a command says of itself, in 80 columns."""
    told = CliRunner().invoke(command, [name, "--help"], prog_name="context-persistent", env={"COLUMNS": "80"})
    assert told.exit_code == 0
    return told.output.rstrip()


def reference() -> str:
    """The usage of every command, in the help's order."""
    names = command.list_commands(click.Context(command))
    parts = [f"### {name}\n\n```text\n{help_of(name)}\n```\n" for name in names]
    return "\n".join([START, "", *parts, END])


def test_the_page_says_what_help_says() -> None:
    """Every command stands in it with its usage, and nothing else does."""
    page = PAGE.read_text(encoding="utf-8")
    written = page[page.index(START) : page.index(END) + len(END)]
    assert written.split() == reference().split()  # where lines break is a matter of click's version


@pytest.mark.parametrize("name", sorted(TABLE))
def test_help_fits_80_columns(name: str) -> None:
    """No line of it is longer, and it begins with what the command does."""
    told = help_of(name)
    assert max(map(len, told.splitlines())) <= 80
    assert TABLE[name].load().help


def test_examples_name_commands_and_options_that_there_are() -> None:
    """Each line of the page's shell examples that runs the command can be parsed by it."""
    page = PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"^context-persistent (.*?)(?: *(?:[#|>].*)?)$", page.partition(START)[0], re.MULTILINE)
    assert len(examples) > 10
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


def main() -> None:
    """Write the reference into the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(START)], page[page.index(END) + len(END) :]
    PAGE.write_text(before + reference() + after, encoding="utf-8")


if __name__ == "__main__":
    main()
