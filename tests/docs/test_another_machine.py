"""What docs/another_machine.md and docs/parted.md show is what a newcomer sees between two homes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.support.places import DOCS
from tests.support.two_homes import Home

PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("another_machine.md", "parted.md"))
STICK = "/media/stick/sessions"


def shape(output: str) -> list[str]:
    """The words of an output without ids, sizes, numbers and times."""
    words = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\S+Z|[\d.,]+(kB|B)?|: session|sessions?\b", "", output)
    return words.split()


def shown(command: str) -> str:
    """What the page shows under a command."""
    return re.findall(rf"^\$ context-persistent {re.escape(command)}\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)[-1]


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    """Its commands, one after the other, bring sessions to a second machine, and say what the page says."""
    laptop, desktop, stick = Home(tmp_path / "laptop", "name"), Home(tmp_path / "desktop", "work/name"), tmp_path / "s"
    stick.mkdir()
    commands = re.findall(rf"^context-persistent (sync {STICK}.*?)(?: +#.*)?$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    session = "acea9de5-e6c5-5ec2-bd9e-da18f3366713"
    for name in (session, "d6bd8667-7138-5836-8d1e-f0a06f5a77ec"):
        laptop.says(name, "one", "two")
    for command in commands:
        laptop.run(*shlex.split(command.replace(STICK, str(stick))))
    first = re.findall(rf"^\$ context-persistent sync {STICK}\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)[0]
    assert shape(desktop.run("sync", stick).output) == shape(first)
    for home in (laptop, desktop):
        home.says(session, f"from the {home.root.name}")
    laptop.run("sync", stick)
    parted = desktop.run("sync", stick, code=1).output
    assert shape(parted)[: len(shape(shown(f"sync {STICK}")))] == shape(shown(f"sync {STICK}"))
    desktop.run("sync", stick, "--keep", "both")
    laptop.run("sync", stick)
    assert len(laptop.sessions()) == 3
    assert laptop.sessions() == desktop.sessions()
