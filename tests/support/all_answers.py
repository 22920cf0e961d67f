"""The answers of all commands that read, to compare sessions before and after they were archived."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.support.commands import run
from tests.support.sweeps import spread

OF_ONE = (
    ("show",),
    ("show", "--outline"),
    ("show", "--turn", "-1"),
    ("show", "--errors"),
    ("tail", "-n", "5"),
    ("stats",),
    ("views",),
    ("files",),
    ("export", "--format", "jsonl"),
    ("export",),
    ("verify", "--json"),
    ("search", "--hidden", "the"),
    ("search", "-w", "error"),
    ("search", "--best", "what failed?"),
    ("compact", "--dry-run"),
    ("report", "--json"),
)
OF_ALL = (
    ("list", "--json"),
    ("list", "--grep", "error", "--json"),
    ("search", "the", "--all", "-l"),
    ("search", "--best", "where is the error?", "--all"),
    ("stats", "--all", "--json"),
    ("sql", "SELECT tool, count(*) FROM calls GROUP BY tool", "--all"),
    ("files", "--all"),
    ("show", "--errors", "--all"),
    ("verify", "--all", "--json"),
)
_CHANGES = re.compile(r'"archived": \w+|"state": "\w+"|"modified_s": [\d.]+|"path": "[^"]*report[^"]*"')


def answers(*sessions: str) -> dict[str, Any]:
    """What commands say, each of one session and some of all."""
    asked = [(first, name, *rest) for name in sessions for first, *rest in OF_ONE] + [*OF_ALL]
    told = {}
    for command in spread(asked, 3):
        more = ("-o", "report.html", "--force") if command[0] == "report" else ()
        done = run(*command, *more, code=None)
        told[" ".join(command)] = (done.exit_code, _CHANGES.sub("", done.stdout), done.stderr)
        if more and Path("report.html").exists():
            told["page " + command[1]] = re.sub(r"<time.*?</time>", "", Path("report.html").read_text("utf-8"))
    return told
