"""The README says what the code does: its examples run, its table is the code's, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from amplifier_module_context_persistent.toolbox.demo.command import read_messages
from fixtures.sample_home import write_home
from tests.support.commands import run
from tests.support.places import DOCS, ROOT
from tests.support.real_sessions import StartSession

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 130


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_it_is_short() -> None:
    """What a newcomer needs fits in it; the rest is in `docs/`."""
    assert len(README.splitlines()) <= MOST_LINES


CLIENT = """
class AsyncAnthropic:
    def __init__(self):
        self.messages = self

    async def create(self, *, model, messages, max_tokens):
        assert messages == [{"role": "user", "content": [{"type": "text", "text": QUESTION, **CACHED}]}], messages
        return Message(model)


class Message:
    type, role = "message", "assistant"

    def __init__(self, model):
        self.model, self.content = model, [Text()]

    def model_dump(self, **_):
        usage = {"input_tokens": 20, "output_tokens": 9}
        content = [{"type": "text", "text": Text.text}]
        return {"type": self.type, "role": self.role, "model": self.model, "content": content, "usage": usage}


class Text:
    type, text = "text", "A README and the sources."


CACHED = {"cache_control": {"type": "ephemeral"}}
QUESTION = "What is in this repository?"
"""
"""A module that stands in for the client; tests/adapters/test_recipes.py runs the example with the real one."""


def test_the_example_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Question and answer are in a session that can be looked at."""
    example, _ = blocks(README, "python")  # the other one: tests/adapters/test_recipes.py
    (tmp_path / "anthropic.py").write_text(CLIENT)
    script = f"import asyncio\n\nasync def main():\n{textwrap.indent(example, '    ')}\nasyncio.run(main())\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(tmp_path)
    for command in ("show", "view"):
        assert "What is in this repository?" in run(command, "session.jsonl").output
    assert "A README and the sources." in run("show", "session.jsonl").output


def test_the_sample_is_written_as_it_says(tmp_path: Path) -> None:
    """With the command of the page, which says the next one."""
    (module,) = re.findall(r"`python3 (-m [\w.]+) /tmp/ada`", README)
    command = [sys.executable, *module.split(), str(tmp_path / "ada")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"HOME={tmp_path}/ada context-persistent import --from claude-code\n")
    assert len(list((tmp_path / "ada").rglob("*.jsonl"))) == 4


def shown_commands() -> list[tuple[str, list[str]]]:
    """The commands that it shows on the sample, each with the lines that it says they print."""
    (block,) = blocks(README, "console")
    commands = [part.splitlines() for part in block.split("$ context-persistent ")[1:]]
    return [(lines[0], lines[1:]) for lines in commands]


def without_times(text: str) -> list[str]:
    """Lines without what changes from day to day."""
    return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "(time)", line.rstrip()) for line in text.splitlines()]


def test_its_commands_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the home of the sample, in the order of the page; only times differ."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    write_home(tmp_path, datetime.now(UTC))
    assert len(shown_commands()) == 4
    for command, expected in shown_commands():
        line, _, tail = command.partition(" | tail -")
        printed = without_times(run(*shlex.split(line)).stdout.replace(f"{tmp_path}/", ""))
        assert printed[-int(tail or 0) :] == without_times("\n".join(expected)), command
    assert re.search(r"`(files --all cart\.py)`", README)
    assert "cart.py" in run("files", "--all", "cart.py").stdout


def test_the_demonstration_is_the_first_command() -> None:
    """The first command of the README ends with it; `tests/demo` runs it as it stands there."""
    assert re.findall(r"^python3 -m venv .venv .* \.venv/bin/context-persistent (.*)$", README, re.MULTILINE) == [
        "demo"
    ]


def test_ci_runs_the_readmes_test_command() -> None:
    """The continuous integration script takes the test command from the README, so the two cannot differ."""
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert len(re.findall(r"^python3 -m venv .* pytest .*$", README, re.MULTILINE)) == 1


@pytest.mark.parametrize("page", ["README.md", "docs/configuration.md"])
async def test_the_mount_plan_mounts_it(page: str, start_session: StartSession, home: Path) -> None:
    """With the mount plan of the page, a session writes its log where the page says, under the given budget."""
    (text,) = blocks((ROOT / page).read_text(encoding="utf-8"), "yaml")
    plan = yaml.safe_load(text)
    rest = {key: value for key, value in plan.items() if key != "session"}
    session = await start_session(plan["session"]["context"], plan=rest)
    manager = session.coordinator.get("context")
    assert manager.config.max_tokens == 150_000
    await manager.add_message({"role": "user", "content": "hello"})
    assert manager.log_path.startswith(f"{home}/.amplifier/projects/")
    assert manager.log_path.endswith("/sessions/s1/context-messages.jsonl")
    await session.cleanup()
    assert [message["content"] for message in read_messages(manager.log_path)] == ["hello"]


def test_it_shows_other_packages_as_they_were_measured() -> None:
    """Its table is the short one of docs/peers.md, which a test holds to the measurement; no row is left out."""
    table = [line for line in README.splitlines() if line.startswith("| ")]
    page = (DOCS / "peers.md").read_text(encoding="utf-8")
    assert len(table) == 8
    assert "\n".join(table) in page.partition("## What was measured")[0]


def test_its_terms_are_explained_where_they_first_stand() -> None:
    """What a view, a plan and a receipt are stands beside the first use of the word."""
    for term in ("view", "plan", "receipt"):
        used = re.sub(r"`[^`]*`|mount plan", lambda found: " " * len(found[0]), README)
        assert README.index(f"*{term}*") == re.search(rf"\*?\b{term}\b", used).start()  # type: ignore[union-attr]


@pytest.mark.parametrize("page", ["README.md", "docs/adoption.md", "bundle.md"])
def test_the_address_of_the_bundle_can_be_copied(page: str, tmp_path: Path) -> None:
    """No line is to be filled in: in a clone, the shell makes of each one a path or an address that is there."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = re.findall(r"amplifier bundle add (\S.*?) --app", text)
    assert lines
    assert "…" not in "".join(lines)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://git.example/a.git"], check=True)
    named = re.findall(r"^ADDRESS=.*$", text, re.MULTILINE)
    for line in lines:
        script = "\n".join([*named, f"printf %s {line}"])
        said = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert said.stdout in (str(tmp_path), "git+https://git.example/a.git@main")


@pytest.mark.parametrize(
    "path",
    [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")), *sorted(DOCS.glob("*.md"))],
    ids=str,
)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link or picture of a page names a file, and its heading where it names one."""
    for link, source in re.findall(r"\]\(([^)\s]+)\)|src(?:set)?=\"([^\"]+)\"", path.read_text(encoding="utf-8")):
        target = link or source
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in anchors, target
