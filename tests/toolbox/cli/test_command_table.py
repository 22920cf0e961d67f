"""The table of commands, and that each is imported when it is used."""

import json
import subprocess
import sys
from typing import Any

import click
import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli.command_table import SECTIONS, TABLE
from amplifier_module_context_persistent.toolbox.cli.main import main
from tests.support.sweeps import proof


@pytest.mark.parametrize("name", sorted(TABLE))
def test_the_table_says_what_the_command_says(name: str) -> None:
    """Its name, and the first sentence of its help."""
    command = TABLE[name].load()
    assert command.name == name
    assert TABLE[name].short_help == command.get_short_help_str(200)


def test_the_help_says_all_that_each_command_does() -> None:
    """No summary is cut."""
    shown = " ".join(CliRunner().invoke(main, ["--help"]).output.split())
    assert [name for name, entry in TABLE.items() if f"{name} {entry.short_help}" not in shown] == []


def test_no_command_stands_in_two_sections() -> None:
    """And the group has them all, in the order of the sections."""
    names = [name for section in SECTIONS.values() for name in section]
    assert main.list_commands(click.Context(main)) == names
    assert len(set(names)) == len(names)


def test_an_unknown_command_is_an_error_in_usage() -> None:
    """Nothing is imported for it."""
    done = CliRunner().invoke(main, ["lsit"])
    assert done.exit_code == 2
    assert "there is no command lsit; did you mean `main list`?" in done.output


HEAVY = {"amplifier_core", "asyncio", "markdown_it", "pydantic", "regex", "rich", "tiktoken"}

LOADED = """
import json, sys
{code}
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(code: str) -> set[str]:
    """The modules that a fresh process has when it ran some code."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(code=code)], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def run(*arguments: Any) -> str:
    """Code that runs the command and goes on."""
    given = [str(argument) for argument in arguments]
    return f"from amplifier_module_context_persistent.toolbox.cli import main\nmain({given!r}, standalone_mode=False)"


@pytest.mark.parametrize(
    "code",
    [
        "from amplifier_module_context_persistent import ConfigError, mount",
        run("--help"),
    ],
)
def test_who_asks_for_little_imports_little(code: str) -> None:
    """Neither the package nor the command's help loads a log, a view, the host's packages or what prints."""
    modules = loaded(code)
    assert not modules & HEAVY
    ours = {name.partition(".")[2] for name in modules if name.startswith("amplifier_module_context_persistent.")}
    of_the_command = {f"toolbox.cli.{name}" for name in ("main", "command_table", "exit_codes")}
    assert ours <= {"errors", "installation", "toolbox", "toolbox.abandoned_copies", "toolbox.cli", *of_the_command}


def test_the_package_imports_nothing_at_all() -> None:
    """Not even of the standard library: before the command's first line nothing can catch Ctrl-C."""
    code = "import sys; before = set(sys.modules); import amplifier_module_context_persistent as package\n"
    code += "assert set(sys.modules) - before <= {package.__name__, '__future__'}, set(sys.modules) - before"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@proof
@pytest.mark.parametrize("names", [("list", "show", "stats"), ("verify", "fork")])
def test_commands_that_read_import_nothing_of_the_host(tmp_path, names: tuple[str, ...]) -> None:
    """Neither the host's packages, nor an event loop, nor a vocabulary, nor Markdown, nor the forms of secrets.

    An export redacts, and takes the names of keys that hold secrets from the host.
    """
    (tmp_path / "log.jsonl").write_text('{"role":"user","content":"hello"}\n', encoding="utf-8")
    arguments = {"stats": ["--tokenizer", "estimate"], "fork": ["--dry-run"]}
    code = [run(name, tmp_path / ("log.jsonl" if name != "list" else ""), *arguments.get(name, [])) for name in names]
    modules = loaded("\n".join(code))
    assert not modules & {"amplifier_core", "asyncio", "markdown_it", "pydantic", "tiktoken"}
    rooms = {module.split(".")[1] for module in modules if module.startswith("amplifier_module_context_persistent.")}
    assert "session" not in rooms
    assert "list" not in names or not rooms & {"compaction", "window"} | {
        one for one in modules if "secrets.formats" in one
    }


INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = ["context-persistent", *{arguments!r}]
from amplifier_module_context_persistent.toolbox.cli import main
sys.exit(main())
"""


@proof(quick=1)
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("amplifier_module_context_persistent.toolbox.cli.main", ["--help"]),
        ("amplifier_module_context_persistent.toolbox.cli.show", ["show", "log.jsonl"]),
        ("amplifier_module_context_persistent.sessions.transcript", ["show", "--help"]),
    ],
)
def test_ctrl_c_while_python_imports_ends_with_130(module: str, arguments: list[str]) -> None:
    """Without a traceback, whatever is imported just then."""
    code = INTERRUPTED.format(module=module, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "Aborted" not in done.stderr
