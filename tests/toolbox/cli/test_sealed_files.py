"""`--encrypt-to` and `--identity`: what leaves the machine sealed is read with the key, and by nobody else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyrage
import pytest

from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.atomic_file import NewFile
from amplifier_module_context_persistent.toolbox.transfer import zstandard
from amplifier_module_context_persistent.toolbox.transfer.sealing import (
    identities_in,
    recipients_of,
    seal_pieces,
    unseal,
)
from tests.support.commands import refused, run, shows
from tests.support.messages import user
from tests.support.sessions_of_a_home import log_of, write

TEXT = "the harbour is closed on Sundays"


@pytest.fixture
def session(project: Path) -> Path:
    log = write(log_of("s-one"), [user("When is the harbour closed?"), {"role": "assistant", "content": TEXT}])
    log.chmod(0o600)  # as a session makes it
    return log


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """An identity file, as `age-keygen` writes it."""
    return write_key(tmp_path / "key.txt")


def write_key(path: Path) -> Path:
    identity = pyrage.x25519.Identity.generate()
    path.write_text(f"# public key: {identity.to_public()}\n{identity}\n")
    return path


def public(key: Path) -> str:
    return key.read_text().splitlines()[0].removeprefix("# public key: ")


@pytest.fixture
def sealed(session: Path, key: Path, tmp_path: Path) -> Path:
    """A sealed copy of the whole log."""
    run("archive", "s-one", "--encrypt-to", public(key), "-o", tmp_path / "sealed")
    return tmp_path / "sealed" / "s-one.jsonl.zst.age"


@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["search", "harbour"],
        ["stats"],
        ["files"],
        ["export"],
        ["view"],
        ["verify"],
        ["report", "-o", "page.html"],
    ],
    ids=lambda command: command[0],
)
def test_what_reads_a_session_reads_a_sealed_one(
    command: list[str], session: Path, sealed: Path, key: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "it is sealed" in run(*command, sealed, code=2).output
    by_option = run(*command, sealed, "--identity", key, code=None)
    Path("page.html").unlink(missing_ok=True)
    plain = run(*command, session, code=by_option.exit_code).stdout
    Path("page.html").unlink(missing_ok=True)
    found = by_option.stdout.splitlines()
    assert len(found) == len(plain.splitlines())
    assert command[0] in ("verify", "stats", "report") or plain.count("harbour") == by_option.stdout.count("harbour")
    env = {"COLUMNS": "80", "NO_COLOR": "1", "CONTEXT_PERSISTENT_IDENTITY": str(key)}
    assert len(run(*command, sealed, env=env, code=None).stdout.splitlines()) == len(found)


@pytest.mark.parametrize("name", ["s-one.jsonl.zst.age", "packed.zst.age"])
def test_verify_finds_nothing_in_a_sealed_log_that_others_may_read(name: str, sealed: Path, key: Path) -> None:
    """Its plain copy is private, whatever the umask and whatever the file is called."""
    found = sealed.rename(sealed.with_name(name))
    before = os.umask(0o022)
    try:
        assert "others may read it" not in run("verify", found, "--identity", key).output
    finally:
        os.umask(before)


def test_the_session_stays_as_it_is_and_an_archived_one_is_sealed_too(session: Path, key: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    run("archive", "s-one", "--encrypt-to", public(key), "-o", tmp_path / "a")
    assert session.read_bytes() == before
    archive_log(str(session))
    run("archive", "s-one", "--encrypt-to", public(key), "-o", tmp_path / "b")
    for directory in "ab":
        run(
            "import",
            tmp_path / directory / "s-one.jsonl.zst.age",
            "--identity",
            key,
            "-o",
            tmp_path / f"{directory}.jsonl",
        )
        assert (tmp_path / f"{directory}.jsonl").read_bytes() == before


def test_it_is_imported_where_the_key_is_and_once(session: Path, sealed: Path, key: Path) -> None:
    content = session.read_bytes()
    run("delete", "s-one", "--yes")
    assert "it is sealed; --identity FILE" in refused("import", sealed)
    assert "deleted here" in refused("import", sealed, "--identity", key)
    done = json.loads(run("import", sealed, "--identity", key, "--again", "--json").stdout)
    assert Path(done["path"]).read_bytes() == content
    again = json.loads(run("import", sealed.parent, "--identity", key, "--json").stdout)
    assert [one["added"] for one in again["imports"]] == [0]


def test_a_log_that_names_no_session_keeps_the_id_of_its_directory(project: Path, key: Path, tmp_path: Path) -> None:
    """As a log that `PersistentContextManager(path)` made; the sealed file is named by the id."""
    log = write(log_of("s-two"))
    lines = log.read_text().splitlines(keepends=True)
    assert json.loads(lines[0]).get("session_id") is None
    run("archive", "s-two", "--encrypt-to", public(key), "-o", tmp_path / "sealed")
    shutil.rmtree(log.parent)
    done = json.loads(run("import", tmp_path / "sealed" / "s-two.jsonl.zst.age", "--identity", key, "--json").stdout)
    assert Path(done["path"]).parent.name == "s-two"


def test_an_export_is_sealed_without_its_secrets(session: Path, key: Path, tmp_path: Path) -> None:
    target = tmp_path / "talk.jsonl.age"
    run("export", "s-one", "--format", "jsonl", "--encrypt-to", public(key), "-o", target)
    assert TEXT.encode() not in target.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o600
    with target.open("rb") as file, (tmp_path / "plain").open("wb") as plain:
        unseal(file, plain, identities_in(str(key)))
    assert (tmp_path / "plain").read_text() == run("export", "s-one", "--format", "jsonl").stdout
    run("export", "--all", "--encrypt-to", public(key), "-o", tmp_path / "many")
    assert [path.suffixes for path in (tmp_path / "many").rglob("s-one*")] == [[".md", ".age"]]


def test_a_damaged_log_is_sealed_and_named(session: Path, key: Path, tmp_path: Path) -> None:
    """Whoever gives it away learns it, not only whoever gets it."""
    session.write_bytes(session.read_bytes().replace(b"closed on Sundays", b"closed on Mondays"))
    told = run("archive", "s-one", "--encrypt-to", public(key), "-o", tmp_path, code=1)
    shows(told.output, "DAMAGED: s-one: line ", "sealed as it is", "1 session sealed.")
    assert (tmp_path / "s-one.jsonl.zst.age").exists()


def test_several_may_open_it_and_others_not(session: Path, key: Path, tmp_path: Path) -> None:
    other, stranger = write_key(tmp_path / "other.txt"), write_key(tmp_path / "stranger.txt")
    keys = ["--encrypt-to", public(key), "--encrypt-to", public(other)]
    run("archive", "s-one", *keys, "-o", tmp_path)
    for one in (key, other):
        shows(run("show", tmp_path / "s-one.jsonl.zst.age", "--identity", one).stdout, TEXT)
    assert "sealed for another key" in refused("show", tmp_path / "s-one.jsonl.zst.age", "--identity", stranger)


def test_a_key_of_ssh_opens_it(session: Path, tmp_path: Path) -> None:
    key = tmp_path / "id"
    try:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    except FileNotFoundError:
        pytest.skip("ssh-keygen is not installed")
    run("archive", "s-one", "--encrypt-to", (tmp_path / "id.pub").read_text().strip(), "-o", tmp_path)
    shows(run("show", tmp_path / "s-one.jsonl.zst.age", "--identity", key).stdout, TEXT)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_of_an_altered_file_nothing_is_used(damage: str, sealed: Path, key: Path) -> None:
    content = bytearray(sealed.read_bytes())
    if damage == "flipped":
        content[-40] ^= 1
    sealed.write_bytes(content[: {"cut": -20, "flipped": None, "empty": 0}[damage]])
    for command in ("show", "import"):
        said = refused(command, sealed, "--identity", key)
        assert damage == "empty" or "cut or altered" in said
        assert TEXT not in said


def test_a_sealed_bomb_is_refused(key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not unpacked to its end, and what was is removed."""
    monkeypatch.setattr(zstandard, "MOST_UNPACKED_BYTES", 1 << 20)
    (tmp_path / "aside").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "aside"))
    content = zstandard.zstd.compress(b" " * (8 << 20))
    (tmp_path / "bomb.age").write_bytes(pyrage.encrypt(content, [pyrage.x25519.Recipient.from_str(public(key))]))
    for command in ("show", "import"):
        assert "nothing that large is read" in refused(command, tmp_path / "bomb.age", "--identity", key)
    assert list((tmp_path / "aside").iterdir()) == []


def test_nothing_of_it_stays_on_the_machine(
    sealed: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a temporary file nor anything in the catalogue, also if the command fails."""
    aside = tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(aside))
    run("delete", "s-one", "--yes")
    for command in (["show"], ["search", "Sundays"], ["show", "--turn", "9"]):
        run(*command, sealed, "--identity", key, code=None)
    assert list(aside.iterdir()) == []
    home = Path.home()
    assert [path for path in home.rglob("*") if path.is_file() and b"Sundays" in path.read_bytes()] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["rename", "x"],
        ["purge", "--cleared", "--yes"],
        ["delete", "--yes"],
        ["repair", "--yes"],
        ["fork"],
        ["copy", "x"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_would_change_it_refuses(arguments: list[str], sealed: Path) -> None:
    before = sealed.read_bytes()
    command, *rest = arguments
    assert "this command opens no sealed files; `show --identity FILE` reads it" in refused(command, sealed, *rest)
    assert sealed.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "there is no private key"),
        ("# only a comment\n", "there is no private key"),
        ("age1qqq\n", "a line of it is no private key"),
        ("x" * 70_000, "too large"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", "SSH key"),
    ],
)
def test_a_wrong_identity_file_is_told_and_not_repeated(content: str, said: str, sealed: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(content)
    told = refused("show", sealed, "--identity", wrong)
    assert said in told
    assert "AAAA" not in told
    wrong.unlink()
    assert f"the key {wrong} cannot be read" in refused("show", sealed, "--identity", wrong)


@pytest.mark.parametrize("wrong", ["age1", "AGE-SECRET-KEY-1QQ", "ssh-ed25519 AAAA", "bob", ""])
@pytest.mark.parametrize("command", [["export", "s-one"], ["archive", "s-one"]], ids=lambda command: command[0])
def test_a_wrong_public_key_is_told_and_nothing_is_written(
    command: list[str], wrong: str, session: Path, tmp_path: Path
) -> None:
    told = refused(*command, "--encrypt-to", wrong, "-o", tmp_path / "out")
    assert "key" in told
    assert not wrong.startswith("AGE-SECRET") or wrong not in told
    assert not (tmp_path / "out").exists()


def test_without_the_extra_a_line_says_what_to_install(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from amplifier_module_context_persistent.toolbox.transfer import sealing

    monkeypatch.setattr(sealing, "find_spec", lambda _name: None)
    assert "the extra `seal` brings it" in refused("export", "s-one", "--encrypt-to", "age1x", "-o", "x")


def test_what_ends_the_pieces_of_a_sealed_file_is_told(tmp_path: Path) -> None:
    """Not that reading failed, which is all that the sealing is told."""

    def pieces() -> Iterator[bytes]:
        yield b"beginning"
        raise LookupError("the log was replaced")

    recipients = recipients_of([str(pyrage.x25519.Identity.generate().to_public())])
    with pytest.raises(LookupError, match="was replaced"), NewFile(tmp_path / "new.age") as new:
        seal_pieces(pieces(), new, recipients)
    assert os.listdir(tmp_path) == []


def test_a_directory_of_sealed_files_means_these_files(sealed: Path, key: Path, tmp_path: Path) -> None:
    """Each is searched as if it was named; without the key, or beside sessions, the answer says so."""
    write(log_of("s-two"), [user("The harbour again?"), {"role": "assistant", "content": "Yes."}])
    run("archive", "s-two", "--encrypt-to", public(key), "-o", sealed.parent)
    found = run("search", "harbour", sealed.parent, "--identity", key).output
    shows(found, TEXT)
    shows(found, "The harbour again?")
    shows(refused("search", "harbour", sealed.parent), "it is sealed; --identity FILE names the private key")
    shows(refused("search", "harbour", "--in", sealed.parent, "--identity", key), "2 sealed files in")
    write(sealed.parent / "s-three" / "context-messages.jsonl", [user("And the harbour?")])
    told = run("search", "harbour", sealed.parent, "--identity", key)
    shows(told.output, "And the harbour?")
    shows(told.stderr, "left out: 2 sealed files")


def test_every_command_says_how_to_read_the_sealed_files_of_a_directory(sealed: Path, key: Path) -> None:
    """So `list` does not say that there is nothing, and the others do not send to `list`."""
    how = f"`context-persistent show {sealed} --identity KEY` shows one"
    listed = run("list", sealed.parent)
    shows(listed.output, how)
    assert json.loads(run("list", sealed.parent, "--json").stdout) == {"sessions": []}
    for command in (["show"], ["tail"], ["stats"], ["export"], ["files"], ["report"], ["view"], ["fork"], ["delete"]):
        shows(refused(*command, sealed.parent), how)
        shows(refused(*command, sealed.parent), f"import {sealed.parent} --identity KEY` makes sessions of all")
    shows(refused("list", sealed), f"show {sealed} --identity KEY` shows its session")


def test_answers_about_a_sealed_file_name_this_file(sealed: Path, key: Path) -> None:
    """The plain copy that was read does not exist any more when a person looks for it."""
    for command in (["search", "harbour", "-l"], ["search", "harbour", "-c"], ["verify"]):
        shows(run(*command, sealed, "--identity", key).output, str(sealed))
    for command in (
        ["search", "harbour", "--json"],
        ["search", "harbour", "--best", "3", "--json"],
        ["stats", "--json"],
    ):
        told = json.loads(run(*command, sealed, "--identity", key).stdout.splitlines()[0])
        assert told["path"] == str(sealed)
    verified = json.loads(run("verify", sealed, "--identity", key, "--json").stdout)
    assert [log["path"] for log in verified["logs"]] == [str(sealed)]
    page = sealed.parent / "page.md.age"
    run("export", "s-one", "--encrypt-to", public(key), "-o", page)
    for command in ("show", "search", "stats", "view"):
        told = refused(command, *["harbour"] * (command == "search"), page, "--identity", key)
        shows(told, f"{page}: ")
