"""What commands say of what was not measured or not made yet is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.progress import Progress

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.cli.progress import WatchedFiles
from amplifier_module_context_persistent.toolbox.cli.time_left import TimeLeftColumn
from tests.support.commands import refused, run, shows
from tests.support.messages import fill
from tests.support.sessions_of_a_home import CONVERSATION, log_of, write

pytestmark = pytest.mark.usefixtures("project")


async def test_a_policy_is_played_with_the_budget_of_the_session() -> None:
    """That of its last request; another one is given by `--budget`."""
    async with PersistentContextManager(log_of("small"), max_tokens=50_000) as manager:
        await fill(manager, CONVERSATION)
        await manager.get_messages_for_request()
    (request,) = json.loads(run("views", "small", "--json").stdout)["requests"]
    compared = [json.loads(run("compare", "small", "--json", *more).stdout) for more in ([], ["--budget", "9000"])]
    assert [one["budget_tokens"] for one in compared] == [request["budget_tokens"], 9_000]
    assert f"a budget of {request['budget_tokens']:,} tokens" in run("replay", "small", "--policy", "sliding").stdout


def test_the_next_request_of_a_session_without_an_answer_is_shown(tmp_path: Path) -> None:
    """As what it would be, and as nothing that was proved."""
    log = write(tmp_path / "log.jsonl", CONVERSATION[:2])
    shown = run("view", log).stdout
    shows(shown, "the next request", "Why is the total wrong?", "No request was made yet")
    told = json.loads(run("view", log, "--json").stdout)
    assert (told["is_next"], told["proved"], len(told["messages"])) == (True, False, 2)
    assert "no answer yet" in refused("view", log, "--request", "2")


def test_a_copy_into_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """No directory is made of a name that was written wrongly."""
    log = write(tmp_path / "log.jsonl")
    for target in (f"{tmp_path}/backups/", tmp_path / "backups" / "copy.jsonl"):
        assert "there is no directory" in refused("copy", log, target)
    assert not (tmp_path / "backups").exists()
    run("copy", log, tmp_path / "copy.jsonl")


def test_a_bar_names_what_follows_the_reading(tmp_path: Path) -> None:
    """And does not stand at 100 % meanwhile; the time left is that of the rest at the pace so far."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    bar = Progress(disable=True)
    files = WatchedFiles(bar, bar.add_task("reading", total=100))
    files.then = "writing the session"
    files.note_read(40)
    task = bar.tasks[0]
    assert (task.description, task.total) == ("reading", 100)
    task.start_time = task.get_time() - 40
    assert TimeLeftColumn().render(task).plain in ("59 s left", "1 min left", "1 min 0 s left")
    files.note_read(60)
    assert (task.description, task.total) == ("writing the session", None)
    assert TimeLeftColumn().render(task).plain == ""
