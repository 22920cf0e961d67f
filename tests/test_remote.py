"""Sessions are found again by the remote repository of their checkout, wherever that lies."""

import json
import shutil
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.checkout_remote import remote_of
from amplifier_module_context_persistent.paths import project_slug
from amplifier_module_context_persistent.sessions.find_session import find_session
from amplifier_module_context_persistent.sessions.other_projects import last_session
from amplifier_module_context_persistent.sessions.session_files import project_sessions
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.commands import run
from tests.support.messages import user

URL = "https://anna:s3cret@Example.org:8443/Team/shop.git"
NAME = "example.org/Team/shop"


def checkout(directory: Path, url: str = URL, name: str = "origin") -> Path:
    """A directory with what git keeps of a clone."""
    (directory / ".git").mkdir(parents=True)
    config = f'[core]\n\tbare = false\n[remote "{name}"]\n\tfetch = +refs/heads/*\n\turl = {url}\n[branch "main"]\n'
    (directory / ".git" / "config").write_text(config)
    return directory


def lines_of(log: Path | str) -> list[str]:
    return Path(log).read_text().splitlines()


async def say(directory: Path, session_id: str, text: str) -> None:
    async with PersistentContextManager(session_id=session_id, working_dir=str(directory)) as manager:
        await manager.add_message(user(text))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (URL, NAME),
        ("git@example.org:Team/shop.git", NAME),
        ("ssh://git@example.org:22/Team/shop/", NAME),
        ("git://example.org/Team/shop", NAME),
        ("token@example.org:Team/shop", NAME),
        ("https://example.org/a?token=s3cret#s3cret", ""),
        ("/srv/git/shop.git", ""),
        ("../shop", ""),
        ("file:///srv/git/shop.git", ""),
        ("C:/git/shop", ""),
        ("https://example.org/", ""),
        ("", ""),
    ],
)
def test_a_remote_has_one_name_however_it_is_written(tmp_path: Path, url: str, name: str) -> None:
    """Without user, password and port; a directory of this machine is no name."""
    found = remote_of(checkout(tmp_path / "shop", url))
    assert found == name
    assert "s3cret" not in found


def test_a_directory_of_a_checkout_has_a_name_of_its_own(tmp_path: Path) -> None:
    """As it is a project of its own to the host."""
    top = checkout(tmp_path / "shop")
    (top / "docs" / "en").mkdir(parents=True)
    assert remote_of(top / "docs" / "en") == f"{NAME}//docs/en"
    assert remote_of(tmp_path) == ""


def test_a_worktree_is_a_checkout_of_the_same_repository(tmp_path: Path) -> None:
    """Its `.git` is a file that says where git's files are."""
    top, tree = checkout(tmp_path / "shop"), tmp_path / "tree"
    own = top / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    assert remote_of(tree) == NAME


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'[remote "origin"\nurl = x', b"url = https://a.b/c/d\n"])
def test_what_cannot_be_read_has_no_name(tmp_path: Path, content: bytes) -> None:
    """Nor does it make a session fail."""
    top = checkout(tmp_path / "shop")
    (top / ".git" / "config").write_bytes(content)
    assert remote_of(top) == ""
    shutil.rmtree(top / ".git")
    (top / ".git").write_bytes(content)
    assert remote_of(top) == ""


async def test_sessions_are_found_after_their_checkout_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `list`, `search`, `--last`, and by the session itself, which goes on; no credentials are in the log."""
    old = checkout(tmp_path / "old")
    await say(old, "s-1", "where is the cart?")
    new = old.rename(tmp_path / "new")
    monkeypatch.chdir(new)
    assert [session.id for session in project_sessions()] == ["s-1"]
    assert last_session().id == "s-1"
    assert "s-1" in run("list").output
    assert "the cart" in run("search", "cart").output
    await say(new, "s-1", "and now?")
    lines = lines_of(find_session("s-1"))
    assert [json.loads(line).get("content") for line in lines] == [None, "where is the cart?", "and now?"]
    assert json.loads(lines[0])["remote"] == NAME
    assert "s3cret" not in lines[0]
    assert len(project_sessions()) == 1


async def test_a_fork_is_found_by_the_remote_of_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = checkout(tmp_path / "one")
    await say(one, "s-1", "hi")
    monkeypatch.chdir(one)
    fork_session(find_session("s-1"), session_id="s-2")
    monkeypatch.chdir(checkout(tmp_path / "two"))
    assert {session.id for session in project_sessions()} == {"s-1", "s-2"}


async def test_two_checkouts_of_one_repository_share_their_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each lists those of both; what is deleted with a project is what began in it."""
    one, two = checkout(tmp_path / "one"), checkout(tmp_path / "two", "git@example.org:Team/shop.git")
    other = checkout(tmp_path / "other", "git@example.org:Team/other.git")
    await say(one, "s-1", "one")
    await say(two, "s-2", "two")
    await say(other, "s-3", "three")
    for place in (one, two):
        monkeypatch.chdir(place)
        assert {session.id for session in project_sessions()} == {"s-1", "s-2"}
    pruned = run("prune", "--older", "2099-01-01", "--dry-run", "--json").output
    assert "s-2" in pruned
    assert "s-1" not in pruned
    await say(two, "s-1", "again")
    assert {session.project for session in project_sessions() if session.id == "s-1"} == {project_slug(one)}


async def test_where_several_logs_could_be_meant_a_new_one_is_begun(tmp_path: Path) -> None:
    """As it is without a remote."""
    one, two, three = (checkout(tmp_path / name) for name in ("one", "two", "three"))
    await say(one, "s-1", "one")
    log = Path(find_session("s-1", one))
    copy = Path(str(log).replace(project_slug(one), project_slug(two)))
    copy.parent.mkdir(parents=True)
    shutil.copy(log, copy)
    await say(three, "s-1", "three")
    assert len(lines_of(find_session("s-1", three))) == 2
    plain = tmp_path / "plain"
    plain.mkdir()
    await say(plain, "s-1", "four")
    assert len(lines_of(find_session("s-1", plain))) == 2


async def test_a_log_without_the_field_stays_where_it_is(tmp_path: Path) -> None:
    """It began before its directory was a checkout, or with an earlier version."""
    place = tmp_path / "place"
    place.mkdir()
    await say(place, "s-1", "one")
    checkout(place)
    moved = place.rename(tmp_path / "moved")
    assert project_sessions(moved) == []
    assert [session.id for session in project_sessions(tmp_path / "place")] == ["s-1"]
