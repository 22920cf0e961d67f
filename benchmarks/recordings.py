"""Recordings of commands as animated SVG, in light or dark as the reader has it: lines appear one by one.

`benchmarks.pictures` writes them. The demonstration and the commands run for real, on the sample home; only times and
the names of temporary directories are replaced, so a recording changes only if what the commands print does.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from fixtures.sample_home import write_home

SHOWN_TIME = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)
"""When the recorded commands ran, as the pictures say."""

COMMANDS = (
    "import --from claude-code",
    "stats --all --since 7d --by project",
    'search --all --best 1 "what did we decide about the deadlock"',
    "files --all cart.py",
    "reports --all pages",
)
_RUN = "from amplifier_module_context_persistent.toolbox.cli import main; main()"
_COLUMNS, _LINE_PX, _MARGIN_PX = 100, 18, 16
_WIDTH_PX = 830
_PROMPT_S, _THINK_S, _LINE_S = 1.2, 0.6, 0.06
_STYLE = """
text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f; white-space: pre; }
.page { fill: #f6f8fa; stroke: #d0d7de; } .command { font-weight: bold; fill: #0550ae; } .head { font-weight: bold; }
.line { opacity: 0; animation: appear 1ms linear forwards; }
@keyframes appear { to { opacity: 1; } }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .page { fill: #0d1117; stroke: #30363d; } .command { fill: #79c0ff; }
}
@media (prefers-reduced-motion: reduce) { .line { animation: none; opacity: 1; } }
"""


def demo_recording() -> str:
    """Draw what `context-persistent demo` prints."""
    with tempfile.TemporaryDirectory() as home:
        return recording("A session survives a SIGKILL", [("demo", _printed("demo", home))])


def tools_recording() -> str:
    """Draw what the README's commands print on the sample home."""
    with tempfile.TemporaryDirectory() as home:
        now = datetime.now(UTC).replace(second=0, microsecond=0)  # so that times of the minute do not change
        write_home(Path(home), now)
        shown = [(command, [_at_shown_time(line, now) for line in _printed(command, home)]) for command in COMMANDS]
    return recording("Looking at the sessions that one has", shown)


def recording(title: str, commands: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Draw commands with what they printed, each line at its time.

    A reader who asks for less motion, and a program that animates nothing, sees all of it at once.
    """
    lines = list(_timed(commands))
    height = len(lines) * _LINE_PX + 2 * _MARGIN_PX
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH_PX} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" x=".5" y=".5" width="{_WIDTH_PX - 1}" height="{height - 1}" rx="6"/>',
    ]
    for number, (at, kind, line) in enumerate(lines, 1):
        if line:
            place = f'x="{_MARGIN_PX}" y="{_MARGIN_PX + number * _LINE_PX - 5}"'
            drawn.append(f'<text class="line {kind}" {place} style="animation-delay: {at:.2f}s">{escape(line)}</text>')
    return "\n".join([*drawn, "</svg>", ""])


def _timed(commands: Sequence[tuple[str, Sequence[str]]]) -> Iterator[tuple[float, str, str]]:
    """Each line with its time and its kind."""
    at = 0.0
    for number, (command, printed) in enumerate(commands):
        if number:
            yield at, "", ""
            at += _PROMPT_S
        yield at, "command", f"$ context-persistent {command}"
        at += _THINK_S
        for line in printed:
            yield at, "head" if re.match(r"\d\. [A-Z]", line) else "", _shortened(line)
            at += _LINE_S


def _shortened(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"


def _printed(command: str, home: str) -> list[str]:
    """The lines that a command prints in a home of its own."""
    environment = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "TZ": "UTC", "COLUMNS": str(_COLUMNS)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    run = [sys.executable, "-c", _RUN, *shlex.split(command)]
    done = subprocess.run(run, cwd=home, env=environment, capture_output=True, text=True, check=True)
    text = done.stdout.replace(home, "~").replace(home.replace("/", "-"), "-tmp")
    text = re.sub(r"context-persistent-demo-\w+", "demo", text)
    return [line.rstrip() for line in text.splitlines()]


def _at_shown_time(line: str, now: datetime) -> str:
    """A line whose times are as long before the shown time as they were before `now`."""

    def moved(found: re.Match[str]) -> str:
        form = "%Y-%m-%d %H:%M:%S" if found[1] else "%Y-%m-%d %H:%M"
        then = datetime.strptime(found[0], form).replace(tzinfo=UTC)
        return (SHOWN_TIME - (now - then)).strftime(form)

    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", moved, line)
