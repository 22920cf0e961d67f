"""The README says what the code does: its example, its commands."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from amplifier_module_context_persistent.session.host import EVENTS
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_event_is_named():
    """Each event that the module contributes is documented."""
    assert [event for event in EVENTS if f"`{event}`" not in README] == []


def test_the_example_runs(tmp_path):
    """The README's Python example does what it says."""
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "What is in this repository?\n"
    assert (tmp_path / "session.jsonl").exists()


def test_the_links_lead_somewhere():
    """Every relative link of the README names a file."""
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("name", ["append", "resume", "request", "tokens", "cli"])
def test_the_benchmarks_that_are_named_exist(name):
    """Each benchmark command of the README starts as the README says it."""
    assert f"-m benchmarks.{name} " in README
    command = [sys.executable, "-m", f"benchmarks.{name}", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_ci_runs_the_readmes_test_command():
    """The continuous integration script takes the test command from the README, so the two cannot differ."""
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert len(re.findall(r"^python3 -m venv .* pytest .*$", README, re.MULTILINE)) == 1
