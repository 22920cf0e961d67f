"""Homes of two machines, each with a checkout of the same repository, and a stick that is carried between them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import Result

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from tests.support.commands import PLAIN, run

REMOTE = '[remote "origin"]\n\turl = git@github.com:owner/name.git\n'


class Home:
    """The home of one machine; its checkout lies elsewhere than that of another one."""

    def __init__(self, root: Path, checkout: str) -> None:
        self.root, self.checkout = root, root / checkout
        (self.checkout / ".git").mkdir(parents=True)
        (root / ".amplifier" / "projects").mkdir(parents=True, exist_ok=True)
        (self.checkout / ".git" / "config").write_text(REMOTE)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Work in the checkout, with this home."""
        before, home = Path.cwd(), os.environ.get("HOME", "")
        os.chdir(self.checkout)
        os.environ["HOME"] = str(self.root)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ["HOME"] = home

    def run(self, *arguments: Any, **options: Any) -> Result:
        """Run a command there."""
        with self.used():
            return run(*arguments, env={**PLAIN, "HOME": str(self.root)}, **options)

    def log(self, session: str) -> Path:
        """The log of a session, in whichever project it is; where this project has it if it is nowhere."""
        projects = self.root / ".amplifier" / "projects"
        found = sorted(projects.glob(f"*/sessions/{session}/{LOG_NAME}"))
        return found[0] if found else projects / project_slug(self.checkout) / "sessions" / session / LOG_NAME

    def says(self, session: str, *texts: str) -> None:
        """Go on with a session, or begin it: each text is a turn with an answer."""
        with self.used():
            asyncio.run(_say(self.log(session), texts))

    def texts(self, session: str) -> list[str]:
        """What was said in a session."""
        with self.used():
            return asyncio.run(_texts(self.log(session)))

    def sessions(self) -> list[str]:
        """The ids of all sessions, in order."""
        return sorted(path.parent.name for path in self.root.glob(f".amplifier/projects/*/sessions/*/{LOG_NAME}"))


async def _say(log: Path, texts: Sequence[str]) -> None:
    async with PersistentContextManager(log, max_tokens=100_000) as manager:
        for text in texts:
            await manager.add_message({"role": "user", "content": text})
            await manager.get_messages_for_request()
            await manager.add_message({"role": "assistant", "content": f"I heard: {text}"})


async def _texts(log: Path) -> list[str]:
    async with PersistentContextManager(log, max_tokens=100_000) as manager:
        return [str(one["content"]) for one in await manager.get_messages() if one["role"] == "user"]


def carry(stick: Path, *homes: Home) -> None:
    """Sync each home with the stick, one after the other."""
    for home in homes:
        home.run("sync", stick, "--yes")


def files_below(root: Path) -> dict[str, bytes]:
    """All files below a directory but for catalogues, by their paths there."""
    found = sorted(path for path in root.rglob("*") if path.is_file() and "catalogue" not in path.name)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def holders(root: Path, text: str) -> list[str]:
    """The files below a directory that hold a text."""
    return sorted(
        str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and text.encode() in path.read_bytes()
    )
