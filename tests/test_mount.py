"""I9: `mount` has no effect outside its coordinator, however often hosts and validators call it."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.module_sources import ModuleNotFoundError as SourceNotFoundError
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation import ContextValidator

import amplifier_module_context_persistent as package
from amplifier_module_context_persistent.tokens import vocabularies
from tests.support.real_sessions import StartSession

MESSAGE = {"role": "user", "content": "hello"}


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where a stray file would be seen."""
    monkeypatch.chdir(tmp_path)


def files_below(*directories: Path) -> list[str]:
    return sorted(str(path) for directory in directories for path in directory.rglob("*"))


def open_files(*directories: Path) -> list[str]:
    """The files below some directories that this process has open, where the system tells it."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        return []
    names = [os.readlink(fd) for fd in descriptors.iterdir() if fd.is_symlink()]
    return sorted(name for name in names if name.startswith(tuple(map(str, directories))))


async def test_mount_creates_no_file_no_thread_and_no_descriptor(
    coordinator: MockCoordinator, home: Path, tmp_path: Path
) -> None:
    """Mounting changes neither the disk nor the process, until the manager is used."""
    threads = set(threading.enumerate())
    cleanup = await package.mount(coordinator, {"transcript_path": "deep/log.jsonl", "memory_files": ["absent.md"]})
    assert files_below(home, tmp_path) == []
    assert set(threading.enumerate()) <= threads
    assert open_files(home, tmp_path) == []
    await cleanup()
    assert files_below(home, tmp_path) == []
    await coordinator.get("context").add_message(MESSAGE)
    assert (tmp_path / "deep" / "log.jsonl").exists()
    await cleanup()


async def test_mount_leaves_an_existing_log_as_it_is(tmp_path: Path) -> None:
    """Mounting over a log, even one with a torn tail, reads, locks and repairs nothing."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"role":"user","content":"whole"}\n{"role":"user","cont')
    before = path.read_bytes(), path.stat().st_mtime_ns
    cleanup = await package.mount(MockCoordinator(), {"transcript_path": str(path)})
    await cleanup()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert open_files(tmp_path) == []
    assert files_below(tmp_path) == [str(path)]


async def test_cleanup_may_run_twice_and_the_manager_still_answers(coordinator: MockCoordinator) -> None:
    """After cleanup the manager opens its log again, and nothing is lost."""
    cleanup = await package.mount(coordinator, {})
    context = coordinator.get("context")
    await context.add_message(MESSAGE)
    await cleanup()
    await cleanup()
    assert [m["content"] for m in await context.get_messages()] == ["hello"]
    await context.add_message({"role": "user", "content": "again"})
    assert len(await context.get_messages_for_request()) == 2
    await cleanup()


async def test_cleanup_lets_descriptors_go(coordinator: MockCoordinator, home: Path) -> None:
    """After cleanup no descriptor of the log is open. Its thread went back to the pool that all logs share."""
    cleanup = await package.mount(coordinator, {})
    await coordinator.get("context").add_message(MESSAGE)
    if sys.platform == "linux":
        assert len(open_files(home)) == 2  # the log, and the mark that it is open
    await cleanup()
    assert open_files(home) == []


async def test_a_wrong_value_is_refused_at_mount() -> None:
    """`mount` raises ConfigError, naming key, value and what is allowed."""
    with pytest.raises(package.ConfigError, match=r"durability: 'later' is not allowed; allowed: `fsync`, `write`"):
        await package.mount(MockCoordinator(), {"durability": "later"})


async def test_mount_takes_no_configuration_at_all(coordinator: MockCoordinator) -> None:
    """`mount(coordinator)` mounts with the defaults."""
    await package.mount(coordinator)
    assert coordinator.get("context").config.max_tokens == 200_000


async def test_the_tokenizer_is_loaded_before_it_is_needed(
    start_session: StartSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real session's loader asks for it after all modules are mounted; not where the estimate is configured."""
    asked: list[str] = []
    monkeypatch.setattr(vocabularies, "load_encoding", asked.append)
    monkeypatch.setattr(vocabularies, "is_at_hand", lambda _name: True)
    for tokenizer in ("auto", "estimate"):
        config = {"transcript_path": str(tmp_path / "log"), "tokenizer": tokenizer}
        await start_session({"module": "context-persistent", "config": config})
        for thread in threading.enumerate():
            if thread.name.startswith("vocabulary-"):
                thread.join()
    assert asked == ["o200k_base"]


async def test_capabilities_are_registered(coordinator: MockCoordinator) -> None:
    """The history, as tools and hosts ask for it, and whether a summary is being made."""
    cleanup = await package.mount(coordinator, {"storage": "memory"})
    await coordinator.get("context").add_message(MESSAGE)
    assert [message["content"] for message in await coordinator.get_capability("context.history")()] == ["hello"]
    assert coordinator.get_capability("context.compacting")() is False
    await cleanup()


async def test_events_are_contributed(coordinator: MockCoordinator) -> None:
    """The events are declared to `observability.events`, those of the contract among them."""
    await package.mount(coordinator, {})
    (events,) = await coordinator.collect_contributions("observability.events")
    assert {
        "context:pre_compact",
        "context:post_compact",
        "context:compaction",
        "context:include",
        "context:message_added:debug",
        "context:set_messages_ignored",
    } <= set(events)


# -- as a loader with a source resolver mounts it ----------------------------------------------------------------------


class Source:
    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self) -> Path:
        return self._path


class Resolver:
    """Finds our package by name on disk, and nothing else."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def resolve(self, module_id: str, **_: Any) -> Source:
        if module_id != "context-persistent":
            raise SourceNotFoundError(module_id)
        return Source(self._root)


@pytest.fixture
def module_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A module's root as a host downloads it: a directory with the package in it."""
    root = tmp_path_factory.mktemp("modules") / "amplifier-module-context-persistent"
    root.mkdir()
    (root / package.__name__).symlink_to(Path(package.__file__).parent, target_is_directory=True)
    paths = list(sys.path)
    yield root
    sys.path[:] = paths


async def test_a_loader_that_validates_first_leaves_a_fresh_session(
    start_session: StartSession, module_root: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validated by a mount with the real configuration, then mounted, the session is not taken for a resumed one."""
    validated: list[str] = []
    validate = ContextValidator.validate

    async def spy(self: ContextValidator, path: str | Path, *args: Any, **options: Any) -> Any:
        validated.append(Path(path).name)
        result = await validate(self, path, *args, **options)
        assert result.passed
        assert files_below(home, tmp_path) == []
        return result

    monkeypatch.setattr(ContextValidator, "validate", spy)
    spec = {"module": "context-persistent", "config": {"transcript_path": str(tmp_path / "log.jsonl")}}
    session = await start_session(spec, resolver=Resolver(module_root))
    assert validated == [package.__name__]
    assert files_below(home, tmp_path) == []
    context = session.coordinator.get("context")
    await context.set_messages([MESSAGE])
    assert [m["content"] for m in await context.get_messages()] == ["hello"]
    await context.clear()
    assert await context.get_messages() == []
