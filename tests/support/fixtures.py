"""Fixtures of all tests: none reaches the home of the person who runs it, and real sessions are started in one way."""

import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from amplifier_core import AmplifierSession, HookResult

from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.postgres import marks_after_start
from amplifier_module_context_persistent.search import pattern
from amplifier_module_context_persistent.session.event_names import EVENTS
from amplifier_module_context_persistent.sessions import session_is_open
from amplifier_module_context_persistent.toolbox import abandoned_copies
from amplifier_module_context_persistent.toolbox.demo.session import ScriptedLoader
from tests.support.fakefs import FakeFiles
from tests.support.postgres import TestServer, running_server
from tests.support.real_sessions import Events, StartSession
from tests.support.recorded_sessions import Recorded
from tests.support.snapshot_faults import SnapshotFaults
from tests.support.snapshots import always
from tests.support.stored_logs import keep_logs_in
from tests.support.sweeps import proof
from tests.support.windows import Desk

SYSTEMS_PROCESSES = session_is_open.PROCESSES
usual_places_of_copies = abandoned_copies.usual_places


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of directories that are not there, by their numbers; `mktemp` reads all that there are for each."""
    base = tmp_path_factory.mktemp("homes")
    return (base / str(number) for number in count())


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, homes: Iterator[Path]) -> Path:
    """Point HOME at an empty directory of this test's own."""
    directory = next(homes)
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("USERPROFILE", str(directory))
    return directory


@pytest.fixture(scope="session", autouse=True)
def own_open_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let commands look for open files in this process only: a look at all processes of a busy machine takes long."""
    with pytest.MonkeyPatch.context() as patch:
        if os.path.isdir(f"{SYSTEMS_PROCESSES}/self"):
            processes = tmp_path_factory.mktemp("processes")
            for name in ("self", str(os.getpid())):
                (processes / name).symlink_to(f"{SYSTEMS_PROCESSES}/{name}")
            patch.setattr(session_is_open, "PROCESSES", str(processes))
        yield


@pytest.fixture(scope="session", autouse=True)
def other_disks_left_alone() -> Iterator[None]:
    """Sync only the directories of the file system that has the tests' files, which may be in memory (`conftest`).

    A new log syncs all directories above it. For root these end with `/`: thousands of tests would wait for its disk.
    """
    sync_directory = FileSystem.sync_directory
    device = os.stat(tempfile.gettempdir()).st_dev

    def sync_tests_own(files: FileSystem, path: str) -> None:
        if os.stat(path).st_dev == device:
            sync_directory(files, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileSystem, "sync_directory", sync_tests_own)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_abandoned_copies() -> Iterator[None]:
    """Let commands look for no abandoned copies in the machine's directories, which may have thousands of entries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(abandoned_copies, "usual_places", set)
        yield


@pytest.fixture(scope="session", autouse=True)
def settled_servers() -> Iterator[None]:
    """Let a deletion not wait after a server was started, as sessions of other processes may need it to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks_after_start, "SETTLED_S", 0.0)
        yield


@pytest.fixture
def all_open_files(own_open_files: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands look for open files in all processes, as they do outside tests."""
    monkeypatch.setattr(session_is_open, "PROCESSES", SYSTEMS_PROCESSES)


@pytest.fixture(autouse=bool(os.environ.get("SNAPSHOT_FAULTS")))
def explored_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """With SNAPSHOT_FAULTS=SEED, put a snapshot of any kind in the catalogue of each log before it is opened."""
    SnapshotFaults(int(os.environ["SNAPSHOT_FAULTS"]), monkeypatch)


@pytest.fixture(params=[False, True], ids=["", "any snapshot"])
def without_and_with_snapshots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test twice: as it is, and with a snapshot of any kind in the catalogue of each log before it is opened."""
    if request.param:
        SnapshotFaults(1, monkeypatch)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expression is given up on a piece of a text after a tenth of the time."""
    monkeypatch.setattr(pattern, "WINDOW_S", pattern.WINDOW_S / 10)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a test has its log."""
    return str(tmp_path / "log.jsonl")


@pytest.fixture
def files() -> FakeFiles:
    """System calls that a test counts and lets fail."""
    return FakeFiles()


@pytest.fixture
def log(path: str, request: pytest.FixtureRequest) -> Iterator[FileLog]:
    """A log at `path`, closed at the end; a test that asks for `files` has it use these."""
    files = request.getfixturevalue("files") if "files" in request.fixturenames else None
    with closing(FileLog(path, files=files)) as log:
        yield log


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with two working directories, `here` and `other`; the process works in the first."""
    for name in ("here", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.fixture
def desk() -> Desk:
    """A log in memory with a window on it, as nobody configured them."""
    return Desk()


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """A session whose views are kept, to be compared with what is rebuilt."""
    return Recorded(tmp_path / "log.jsonl")


@pytest.fixture
def snapshots_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write snapshots of logs however short they are."""
    always(monkeypatch)


@pytest.fixture
def impossible(tmp_path: Path) -> Path:
    """A path where nothing can be created, not even by root: below a file."""
    (tmp_path / "file").write_text("not a directory", encoding="utf-8")
    return tmp_path / "file" / "below" / "log.jsonl"


@pytest.fixture(scope="session")
def server() -> Iterator[TestServer]:
    """A PostgreSQL server for all tests of this process that ask for it; they skip where no package carries one."""
    with running_server() as running:
        yield running


@pytest.fixture
def storage(server: TestServer, request: pytest.FixtureRequest) -> str:
    """A schema of this test's own in that server: what `storage` is configured with."""
    return server.new_location(getattr(request, "param", ""))


@pytest.fixture(params=["file", pytest.param("postgres", marks=proof)])
def each_log(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test twice: with its sessions' logs in files, and with the same logs in a database."""
    if request.param == "postgres":
        keep_logs_in(request.getfixturevalue("storage"), monkeypatch)


@pytest_asyncio.fixture
async def start_session(tmp_path: Path) -> AsyncIterator[StartSession]:
    """Start real sessions with our module by the mount plan and the demo's scripted provider, tools and loop."""
    started: list[Any] = []

    async def start(
        context: str | Mapping[str, Any] = "context-persistent",
        *,
        session_id: str = "s1",
        working_dir: Path = tmp_path,
        resolver: Any = None,
        plan: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        mount_plan = {
            "session": {"orchestrator": "loop-scripted", "context": context},
            "providers": [{"module": "provider-scripted"}],
            "tools": [{"module": "tools-scripted"}],
            **(plan or {}),
        }
        session = AmplifierSession(mount_plan, session_id=session_id, **options)
        started.append(session)
        session.coordinator.register_capability("session.working_dir", str(working_dir))
        session.coordinator.loader = ScriptedLoader(session.coordinator, lambda *_, **__: None, endless=False)
        if resolver is not None:
            await session.coordinator.mount("module-source-resolver", resolver)
        await session.initialize()
        return session

    yield start
    for session in started:
        await session.cleanup()


@pytest.fixture
def record_events() -> Callable[[Any], Events]:
    """Record what our module emits on a coordinator."""

    def record(coordinator: Any) -> Events:
        events: Events = []

        async def keep(event: str, payload: dict[str, Any]) -> HookResult:
            events.append((event, dict(payload)))
            return HookResult(action="continue")

        for event in EVENTS:
            coordinator.hooks.register(event, keep, name=f"record-{event}")
        return events

    return record
