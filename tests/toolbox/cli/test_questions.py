"""The questions of docs/cli.md, asked of 50 sessions: each has a command, to which `--help` leads."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.cli.command_table import TABLE
from tests.support.commands import run
from tests.support.messages import fill
from tests.support.places import DOCS
from tests.support.sessions_of_a_home import CONVERSATION, log_of, write
from tests.support.sweeps import proof

ROWS = re.findall(r"^\| ([^|]+\?) \| (.+) \|$", (DOCS / "cli.md").read_text("utf-8"), re.MULTILINE)
QUESTIONS = {question: re.findall(r"`context-persistent ([^`]+)`", commands) for question, commands in ROWS}

ANSWERS = {
    "Which session was about refunds?": ["5f2c-long"],
    "Which sessions of this project were on in the last three days?": ["5f2c-long"],
    "Which sessions of the last week called `bash`, used Opus and had a failed call?": ["no session matches"],
    "Which sessions touched a file?": ["src/total.py", "5f2c-long"],
    "Which files did a session change?": ["src/total.py", "what shell commands did"],
    "What did it cost?": ["claude-opus-4-5-20251101", "cost"],
    "What did all of them cost this week?": ["2 sessions, ", "$0.53"],
    "Which models did each project use, and for how much?": ["project", "model", "$0.53"],
    "What did the release cost?": ["tag", "no tag", "$0.53"],
    "What do we spend from month to month?": ["month", "$0.53"],
    "How much of 50 dollars a week is left?": ["$49.48 left"],
    "Which sessions cost most?": ["5f2c-long", "$0.53"],
    "What does it cost to go on with one?": ["RESUME", "$0.50 cold"],
    "Anything else about figures?": ["bash", "read_file"],
    "Where did the time go?": ["turn", "took", "And refunds?"],
    "What was said last?": ["KEY"],
    "What did the model not see?": ["Refund number 9.", "Proved: its hash equals"],
    "What changed from one request to the next?": ["there is no request before this one"],
    "Which commands failed?": ["NO RESULT"],
    "How do I hand it to a colleague?": ["report-"],
    "How do I see all of a project in a browser?": ["overview/index.html", "51 reports"],
    "How do I export all sessions that mention a ticket?": ["0 sessions exported"],
    "How do I give it a name, and find all for the release?": [
        "is called The rounding bug",
        "5f2c-long: release",
        "#release",
    ],
    "How do I keep turn 7 out of what the model sees?": ["Turn 7 is hidden from views", "Turn 7 may be shown again"],
    "How do I go on from turn 12?": ["up to turn 12", "  amplifier session resume "],
    "What did a fork and its origin each do since?": ["The first 5 messages are the same, up to turn 1."],
    "How do I have my sessions on two machines?": ["sessions brought in step"],
    "How do I back them up, and get them back?": ["51 sessions backed up", "51 sessions restored already"],
    "How do I move it to another machine?": ["read back and the same", "with all that the log holds"],
    "What takes the space?": ["receipts"],
    "How do I make old ones smaller?": ["no session to archive"],
    "How do I delete old ones?": ["sessions, ", "Delete "],
    "How do I delete all of a project but one?": ["50 sessions, ", "Delete 50"],
    "How do I erase a key everywhere?": ["something to purge in 1", "Remove it for good?"],
    "Are all logs sound?": ["5f2c-long", ": sound"],
}
"""What is in the answer."""

WORDS = {
    "Which session was about refunds?": "Search messages of this project's sessions",
    "Which sessions of this project were on in the last three days?": "List the sessions of this project",
    "Which sessions of the last week called `bash`, used Opus and had a failed call?": "List the sessions",
    "Which sessions touched a file?": "which sessions touched PATH",
    "Which files did a session change?": "Show which files SESSION touched",
    "What did it cost?": "the money that SESSION",
    "What did all of them cost this week?": "or many sessions",
    "Which models did each project use, and for how much?": "the money",
    "What did the release cost?": "the money",
    "What do we spend from month to month?": "the money",
    "How much of 50 dollars a week is left?": "the money",
    "Which sessions cost most?": "the money",
    "What does it cost to go on with one?": "List the sessions",
    "Anything else about figures?": "Ask in SQL",
    "Where did the time go?": "its turns",
    "What was said last?": "Show the messages of SESSION",
    "What did the model not see?": "saw, and did not see",
    "What changed from one request to the next?": "what the model saw",
    "Which commands failed?": "the calls that failed",
    "How do I hand it to a colleague?": "to send round",
    "How do I see all of a project in a browser?": "Make pages of this project's sessions",
    "How do I export all sessions that mention a ticket?": "Export the live history of SESSION",
    "How do I give it a name, and find all for the release?": "Call SESSION by NAME",
    "How do I keep turn 7 out of what the model sees?": "out of what the model sees",
    "How do I go on from turn 12?": "begins with SESSION's history up to turn N",
    "What did a fork and its origin each do since?": "and what each did since",
    "How do I have my sessions on two machines?": "in both directions",
    "How do I back them up, and get them back?": "Keep copies of all sessions",
    "How do I move it to another machine?": "to move it",
    "What takes the space?": "takes on the disk",
    "How do I make old ones smaller?": "Compress",
    "How do I delete old ones?": "whose last message is older",
    "How do I delete all of a project but one?": "that filters choose",
    "How do I erase a key everywhere?": "a text from all logs",
    "Are all logs sound?": "Check logs",
}
"""The words of `--help` that lead to the command."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a project with 49 short sessions, and one of twelve turns; its home is below it.

    The long one has a receipt, a cost, a call without a result, and a key.
    """
    directory = tmp_path_factory.mktemp("asked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(directory / "home"))
        patch.chdir(directory)
        for name in ("stick", "kept"):
            Path(name).mkdir()
        asyncio.run(write_sessions())
    return directory


@pytest.fixture
def sessions(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of them, as some questions write."""
    monkeypatch.setenv("HOME", str(shutil.copytree(written / "home", tmp_path / "home")))
    monkeypatch.chdir(written)


async def write_sessions() -> None:
    for number in range(49):
        write(log_of(f"s{number:03}"), [{"role": "user", "content": f"Something else, {number}."}])
    turns = [{"role": "user", "content": f"Refund number {number}."} for number in range(10)]
    calls = [{"id": "c", "tool": "bash", "arguments": {"command": "false"}}]
    usage = {"input_tokens": 100_000, "output_tokens": 1_000}
    paid = {"model": "claude-opus-4-5-20251101", "provider": "anthropic", "usage": usage}
    last = {"role": "assistant", "content": "KEY", "tool_calls": calls, "metadata": paid}
    async with PersistentContextManager(log_of("5f2c-long"), max_tokens=100_000) as manager:
        await fill(manager, [*CONVERSATION, *turns])
        await manager.get_messages_for_request()
        await manager.add_message(last)
    run("fork", log_of("5f2c-long"), "--at", "1", "--session", "forked", "-o", log_of("forked"))


def test_each_has_an_answer() -> None:
    """Each with what its answer holds."""
    assert list(QUESTIONS) == list(ANSWERS) == list(WORDS)


@proof(quick=3)
@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_has_a_command(question: str) -> None:
    """It runs as it stands in the docs, and the answer is in what it prints."""
    shown, codes = "", set()
    for command in QUESTIONS[question]:
        done = run(*shlex.split(command), code=None)
        shown += done.output
        codes.add(done.exit_code)
    assert [part for part in ANSWERS[question] if part not in shown] == [], shown
    asks = question.startswith(("How do I erase a key everywhere?", "How do I delete"))
    assert codes == ({2} if asks else {0})  # nobody answers here


@pytest.mark.parametrize("question", WORDS)
def test_the_help_leads_to_it(question: str) -> None:
    """The command's line in `--help` says so."""
    shown = " ".join(run("--help").output.split())
    summaries = [f"{name} {TABLE[name].short_help}" for name in {command.split()[0] for command in QUESTIONS[question]}]
    assert any(summary in shown and WORDS[question] in summary for summary in summaries)
