"""The page for adopting, using, updating and leaving the module, run step by step against a host.

The commands are those of docs/adoption.md, in order. A stand-in for the host runs them always: it knows what they say
and no more, so that the steps themselves are checked. The real host runs them where `AMPLIFIER_HOST` names its command
and `AMPLIFIER_HOST_SETTINGS` a directory with its settings; else that test is skipped.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import DOCS, ROOT
from tests.support.sweeps import proof

STEP = re.compile(r"<!-- step: (\w+) -->\n```sh\n(.*?)```", re.DOTALL)
STEPS = dict(STEP.findall((DOCS / "adoption.md").read_text("utf-8")))

STAND_IN = '''#!{python}
"""Knows the host's commands as the page has them: bundles over every session, one session, its transcript."""
import asyncio, json, os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
home = Path.home() / ".amplifier"
settings, transcript = home / "settings.json", home / "projects/-work/sessions/s1/transcript.jsonl"
bundles = json.loads(settings.read_text()) if settings.exists() else []

async def turn(prompt):
    said = [json.loads(line) for line in transcript.read_text().splitlines()] if transcript.exists() else []
    transcript.parent.mkdir(parents=True, exist_ok=True)
    new = [{{"role": "user", "content": prompt}}, {{"role": "assistant", "content": "Hello."}}]
    if any((Path(address) / "bundle.md").exists() for address in bundles):
        from amplifier_core.testing import MockCoordinator
        from amplifier_module_context_persistent import mount
        coordinator = MockCoordinator()
        cleanup = await mount(coordinator, {{"transcript_path": str(transcript.with_name("context-messages.jsonl"))}})
        context = coordinator.get("context")
        if said:
            await context.set_messages(said)
        for message in new:
            await context.add_message(message)
        await context.get_messages_for_request()
        said, new = await context.get_messages(), []
        await cleanup()
    transcript.write_text("".join(json.dumps(message) + "\\n" for message in [*said, *new]))

match sys.argv[1:]:
    case ["bundle", "add", address, "--app"]:
        bundles.append(address)
    case ["bundle", "remove", address, "--app"]:
        bundles.remove(address)
    case ["bundle", "update", "context-persistent", "--yes"]:
        pass
    case ["run" | "continue", prompt]:
        asyncio.run(turn(prompt))
    case others:
        sys.exit(f"the stand-in knows no command {{others}}")
home.mkdir(exist_ok=True)
settings.write_text(json.dumps(bundles))
os._exit(0)  # amplifier-core 2.0.2 may crash when the interpreter is finalised
'''


class Person:
    """Somebody who types the commands of the page, in one shell."""

    def __init__(self, home: Path, host: Path) -> None:
        self.home, self._work = home, home / "work"
        self._work.mkdir(parents=True)
        path = os.pathsep.join([str(host.parent), os.environ["PATH"]])
        self._environment = {**os.environ, "HOME": str(home), "PATH": path}

    def do(self, name: str) -> str:
        """Type the commands of a step; what they print. Variables that it sets are there in later ones."""
        names = re.findall(r"^([A-Z]+)=", STEPS[name], re.MULTILINE)
        noted = [f'printf %s "${name}" > {self._work}/{name}' for name in names]
        done = subprocess.run(
            ["bash", "-c", "\n".join(["set -eu", STEPS[name], *noted])],
            capture_output=True,
            text=True,
            cwd=ROOT if name == "adopt" else self._work,
            env=self._environment,
            check=False,
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        self._environment |= {name: (self._work / name).read_text() for name in names}
        return done.stdout

    @property
    def logs(self) -> list[Path]:
        """Everything of ours below the home, but the program."""
        return [found for found in (self.home / ".amplifier").rglob("context-*") if found.is_file()]

    @property
    def said(self) -> str:
        """What the session's log holds."""
        return "".join(log.read_text("utf-8") for log in self.logs if log.name == "context-messages.jsonl")


def follow(person: Person) -> None:
    """Go through the page, and look after each step."""
    person.do("adopt")
    assert person.logs == []
    person.do("run")
    assert "Say hello." in person.said
    assert person.logs[0].parent.name[:4] in person.do("look")
    person.do("update")
    person.do("resume")
    assert person.said.count("And now?") == 1
    person.do("switch")
    before = person.said
    person.do("without")
    assert person.said == before
    person.do("back")
    assert person.said.count("Without it.") == 1, "the turn of the other module is taken over"
    assert person.said.count("With it again.") == 1
    assert person.said.count("Say hello.") == 1
    person.do("leave")
    before = person.said
    person.do("without")
    assert person.said == before
    person.do("clean")
    assert person.logs == []


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A directory with the stand-in, and our command beside it, as in the host's environment."""
    directory = tmp_path / "host" / "bin"
    directory.mkdir(parents=True)
    command = directory / "amplifier"
    command.write_text(STAND_IN.format(python=sys.executable, root=str(ROOT)))
    ours = directory / "context-persistent"
    ours.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from amplifier_module_context_persistent.toolbox.cli.main import main\nmain()\n"
    )
    uv = directory / "uv"
    uv.write_text('#!/bin/sh\n[ "$1 $2 $3" = "pip uninstall --python" ] && [ -n "$5" ]\n')
    for one in (command, ours, uv):
        one.chmod(0o755)
    return command


@proof
def test_the_steps_of_the_page_do_what_they_say(tmp_path: Path, stand_in: Path) -> None:
    """With the stand-in: nothing is left afterwards, and no turn is lost or doubled in between."""
    follow(Person(tmp_path / "home", stand_in))


def test_the_real_host_follows_the_page(tmp_path: Path) -> None:
    """Installs nothing by itself: the host's command is named by whoever has it, and its provider is configured."""
    command = shutil.which(os.environ.get("AMPLIFIER_HOST", ""))
    if command is None:
        pytest.skip("AMPLIFIER_HOST names no command of the host (`uv tool install` of the amplifier repository)")
    person = Person(tmp_path / "home", Path(command))
    if configuration := os.environ.get("AMPLIFIER_HOST_SETTINGS"):
        shutil.copytree(configuration, person.home / ".amplifier")
    follow(person)
