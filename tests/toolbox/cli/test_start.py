"""Commands answer at once: of the package, and of what it depends on, they load what they use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from amplifier_module_context_persistent.catalogue.session_list_cache import LEAST_LOG_BYTES
from tests.support.commands import run
from tests.support.sessions_of_a_home import write
from tests.support.sweeps import proof

PACKAGE = "amplifier_module_context_persistent"
_RUN = f"""
import json, sys
from {PACKAGE}.toolbox.cli import main
from tests.support.sweeps import proof
main(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
READS_LOGS = {f"{PACKAGE}.{name}" for name in ("log.scanner", "log.reader", "sessions.transcript", "tokens.counter")}
APPENDS = {f"{PACKAGE}.log.{name}" for name in ("open_log", "file_log", "memory", "append_queue")}
COUNTS = {f"{PACKAGE}.{name}" for name in ("sessions.totals", "sessions.statistics", "catalogue.kept_figures")}
RANKS = {f"{PACKAGE}.{name}" for name in ("sessions.all_sessions_index", "catalogue.ranked_words", "search.ranking")}
MAKES_VIEWS = {f"{PACKAGE}.{name}" for name in ("view.entry", "view.tool_groups", "compaction", "window")}
MOUNTS = {f"{PACKAGE}.{name}" for name in ("session.manager", "config.option_table")}
OTHERS = {"psycopg", "asyncio", "rich.progress", "rich.markdown", f"{PACKAGE}.toolbox.transfer"}


def loaded(*arguments: str) -> set[str]:
    """The modules that a command in a process of its own has loaded when it ends."""
    done = subprocess.run([sys.executable, "-c", _RUN, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@proof(quick=1)
@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["list", "{directory}"], READS_LOGS | COUNTS | RANKS | MAKES_VIEWS),
        (["show", "{log}", "--turn", "-1"], COUNTS | RANKS | MAKES_VIEWS),
        (["tail", "{log}"], COUNTS | RANKS | MAKES_VIEWS),
        (["search", "word", "{log}"], COUNTS | RANKS | MAKES_VIEWS),
        (["stats", "{log}"], RANKS | MAKES_VIEWS),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_a_command_loads_what_it_uses(tmp_path: Path, arguments: list[str], unused: set[str]) -> None:
    """Of sessions whose catalogue knows them, `list` reads none; no command loads what another one does."""
    log = write(tmp_path / "log.jsonl", [{"role": "user", "content": "some words " * 100}] * 100)
    log.chmod(0o600)
    assert log.stat().st_size > LEAST_LOG_BYTES
    if arguments[0] == "list":
        run("list", str(tmp_path))
    given = [part.format(log=log, directory=tmp_path) for part in arguments]
    found = loaded(*given)
    assert f"{PACKAGE}.toolbox.cli.main" in found
    assert not found & (unused | APPENDS | MOUNTS | OTHERS)


def test_a_list_after_stats_reads_no_log(tmp_path: Path) -> None:
    """`stats` keeps what `list` shows of the log that it read."""
    log = write(tmp_path / "log.jsonl", [{"role": "user", "content": "some words " * 100}] * 100)
    log.chmod(0o600)
    run("stats", str(log), "--tokenizer", "estimate")
    assert not loaded("list", str(tmp_path)) & READS_LOGS
