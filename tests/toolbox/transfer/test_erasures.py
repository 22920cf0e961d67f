"""What was erased stays erased: an import honours deletions and purges, and the note of them holds no text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.erasures.erasure_list import (
    erasures,
    erasures_path,
    lift,
    note_erasure,
    note_erasures,
)
from amplifier_module_context_persistent.erasures.erasure_record import SESSION
from amplifier_module_context_persistent.erasures.text_rule import TakenHashes, rule_of
from amplifier_module_context_persistent.toolbox.transfer.erasing.erased_session_names import SourceNames
from amplifier_module_context_persistent.toolbox.transfer.erasing.new_erasure import erasure_of
from amplifier_module_context_persistent.toolbox.transfer.imports.import_directory import import_all
from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")

KEY = "sk_live_Zx81mQ0pLw72HdTt93Kk45Bb"
PASSWORD = "hunter2"
SAID = [
    {"role": "user", "content": f"the key is {KEY}, the password {PASSWORD}"},
    {"role": "assistant", "content": "Thank you."},
]


def source(path: Path, *more: str, first: str | None = None) -> Path:
    """A file of messages without an id of its own."""
    said: list[dict[str, Any]] = [*SAID, *({"role": "user", "content": text} for text in more)]
    if first is not None:
        said[0] = {"role": "user", "content": first}
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(message) + "\n" for message in said))
    return path


def claude_session(path: Path, session_id: str, *texts: str) -> Path:
    """A file of Claude Code, whose sessions have ids."""
    lines = []
    for number, text in enumerate(texts):
        entry = {
            "type": "user" if number % 2 == 0 else "assistant",
            "uuid": f"{session_id}-{number}",
            "parentUuid": f"{session_id}-{number - 1}" if number else None,
            "sessionId": session_id,
            "timestamp": f"2026-01-05T09:00:0{number}Z",
            "message": {"role": "user" if number % 2 == 0 else "assistant", "content": text},
        }
        lines.append(json.dumps(entry) + "\n")
    path.write_text("".join(lines))
    return path


def texts(session: str) -> list[str]:
    shown = run("show", session, "--json").stdout.splitlines()
    return [json.loads(line)["message"]["content"] for line in shown]


def refused(*arguments: Any) -> str:
    return " ".join(run("import", *arguments, code=2).stderr.split())


@proof
def test_a_deleted_session_is_not_imported_again(tmp_path: Path) -> None:
    """Under no id, from no other place, and not after it grew; `--again` imports it, and later imports add to it."""
    given = source(tmp_path / "talk.jsonl")
    run("import", given, "--session", "one")
    run("delete", "one", "--yes")
    for arguments in ((given,), (given, "--session", "two"), (given, "-o", tmp_path / "x.jsonl"), (given, "--dry-run")):
        assert "was deleted here on" in refused(*arguments)
    assert "was deleted here on" in refused(source(tmp_path / "moved" / "other.jsonl", "and more"))
    assert not log_of("one").exists()
    run("import", given, "--session", "one", "--again")
    assert "1 of them were added" in run("import", source(given, "and more"), "--session", "one").stdout
    assert len(texts("one")) == 3


def test_another_session_is_imported(tmp_path: Path) -> None:
    """Also if it has the path that the deleted one had, or begins with the same message."""
    given = source(tmp_path / "talk.jsonl")
    run("import", given, "--session", "one")
    run("delete", "one", "--yes")
    run("import", source(given, first="something else"), "--session", "two")
    short = tmp_path / "short.jsonl"
    short.write_text(json.dumps(SAID[0]) + "\n" + json.dumps({"role": "assistant", "content": "No."}) + "\n")
    run("import", short, "--session", "three")


def test_a_session_with_an_id_is_known_by_it(tmp_path: Path) -> None:
    """Whatever its file is called, and however it begins by now."""
    given = claude_session(tmp_path / "a.jsonl", "c1", "hello", "hi")
    run("import", given)
    run("delete", "c1", "--yes")
    assert "was deleted here on" in refused(claude_session(tmp_path / "b.jsonl", "c1", "another beginning", "hi"))
    run("import", claude_session(tmp_path / "c.jsonl", "c2", "hello", "hi"))


@proof
def test_an_import_of_all_leaves_deleted_ones_out(tmp_path: Path) -> None:
    """It says so, imports the others, and is no failure."""
    directory = tmp_path / "all"
    directory.mkdir()
    for name in ("c1", "c2"):
        claude_session(directory / f"{name}.jsonl", name, "hello", "hi")
    run("import", directory)
    run("delete", "c1", "--yes")
    done = run("import", directory)
    assert "left out: " in done.stdout
    assert "was deleted here on" in done.stdout
    assert not log_of("c1").exists()
    told = json.loads(run("import", directory, "--json").stdout)
    assert ([Path(one["source"]).name for one in told["erased"]], told["errors"]) == (["c1.jsonl"], [])
    files = list(import_all([str(directory / "c1.jsonl")], again=True))
    assert files[0].report is not None
    assert texts("c1") == ["hello", "hi"]


@proof
def test_a_copy_of_a_deleted_log_is_not_imported_again(tmp_path: Path) -> None:
    """It has the same log's id. Nor does a copy made before a purge bring anything back; one made after it may come."""
    run("import", claude_session(tmp_path / "a.jsonl", "c1", f"key {KEY}", "hi"))
    run("copy", "c1", tmp_path / "before.jsonl")
    run("purge", "c1", "--redact", KEY, "--yes")
    run("copy", "c1", tmp_path / "after.jsonl")
    assert "still holds what was removed" in refused(tmp_path / "before.jsonl", "-o", tmp_path / "x.jsonl")
    run("import", tmp_path / "after.jsonl", "-o", tmp_path / "y.jsonl")
    run("delete", "c1", "--yes")
    assert "was deleted here on" in refused(tmp_path / "after.jsonl")
    run("import", tmp_path / "before.jsonl", "--again")
    assert texts("c1") == [f"key {KEY}", "hi"]


def test_a_copy_that_never_held_what_was_purged_is_imported(tmp_path: Path) -> None:
    """It is older than the text that was purged later."""
    run("import", claude_session(tmp_path / "a.jsonl", "c1", "hello", "hi"))
    run("copy", "c1", tmp_path / "before.jsonl")
    run("import", claude_session(tmp_path / "a.jsonl", "c1", "hello", "hi", f"key {KEY}"))
    run("copy", "c1", tmp_path / "with.jsonl")
    run("purge", "c1", "--redact", KEY, "--yes")
    run("import", tmp_path / "before.jsonl", "-o", tmp_path / "x.jsonl")
    assert "still holds what was removed" in refused(tmp_path / "with.jsonl", "-o", tmp_path / "y.jsonl")


@pytest.mark.parametrize("is_purged_too", [False, True], ids=["from before the text", "purged by itself"])
def test_an_older_file_of_a_purged_session_adds_nothing(tmp_path: Path, *, is_purged_too: bool) -> None:
    """It does not hold the text, and has nothing that the session lacks: that is no error."""
    run("import", claude_session(tmp_path / "a.jsonl", "c1", "hello", "hi"))
    run("copy", "c1", tmp_path / "copy.jsonl")
    run("import", claude_session(tmp_path / "a.jsonl", "c1", "hello", "hi", f"key {KEY}", "Thanks."))
    if is_purged_too:
        (tmp_path / "copy.jsonl").write_bytes(log_of("c1").read_bytes())
    run("purge", "c1", "--redact", KEY, "--yes")
    if is_purged_too:
        run("purge", tmp_path / "copy.jsonl", "--redact", KEY, "--yes")
    assert "older than what was imported before" in run("import", tmp_path / "copy.jsonl", "--session", "c1").stdout
    assert texts("c1") == ["hello", "hi", "key [redacted]", "Thanks."]


def test_a_copy_that_another_purge_went_over_is_refused_if_it_holds_the_text(tmp_path: Path) -> None:
    """Though its own purge is later."""
    run("import", claude_session(tmp_path / "a.jsonl", "c1", f"key {KEY} and {PASSWORD}", "hi"))
    run("copy", "c1", tmp_path / "copy.jsonl")
    run("purge", "c1", "--redact", KEY, "--yes")
    run("purge", tmp_path / "copy.jsonl", "--redact", PASSWORD, "--yes")
    assert "still holds what was removed" in refused(tmp_path / "copy.jsonl", "-o", tmp_path / "y.jsonl")
    run("purge", tmp_path / "copy.jsonl", "--redact", KEY, "--yes")
    run("import", tmp_path / "copy.jsonl", "-o", tmp_path / "y.jsonl")


async def test_a_copy_of_a_session_of_ones_own_is_known_too(tmp_path: Path) -> None:
    """A session that was never imported has its log's id."""
    async with PersistentContextManager(log_of("own"), session_id="own") as manager:
        await manager.add_message(SAID[0])
    run("copy", "own", tmp_path / "copy.jsonl")
    run("delete", "own", "--yes")
    assert "was deleted here on" in refused(tmp_path / "copy.jsonl")


async def own_session(session_id: str, *texts: str) -> Path:
    """A session of one's own, which was never imported."""
    async with PersistentContextManager(log_of(session_id), session_id=session_id) as manager:
        for number, text in enumerate(texts):
            await manager.add_message({"role": "assistant" if number % 2 else "user", "content": text})
    return log_of(session_id)


def copies_without_a_name(session_id: str, directory: Path) -> list[Path]:
    """Copies of a session's messages that do not say whose they are."""
    run("export", session_id, "-o", directory / "export.jsonl", "--format", "jsonl", "--force")
    lines = log_of(session_id).read_bytes().splitlines(keepends=True)
    (directory / "headless.jsonl").write_bytes(b"".join(lines[1:]))
    (directory / "end.jsonl").write_bytes(b"".join(lines[3:]))
    return [directory / name for name in ("export.jsonl", "headless.jsonl", "end.jsonl")]


@proof
async def test_copies_that_name_no_session_are_known_by_its_messages(tmp_path: Path) -> None:
    """An export as JSON Lines, a log without its first line, a part of one."""
    await own_session("own", f"the key is {KEY}", "Thank you.", "and now", "Done.")
    copies = copies_without_a_name("own", tmp_path)
    run("delete", "own", "--yes")
    for copy in copies:
        assert "was deleted here on" in refused(copy), copy
        assert "was deleted here on" in refused(copy, "--session", "other"), copy
    run("import", copies[0], "--session", "back", "--again")
    assert texts("back")[1:] == ["Thank you.", "and now", "Done."]


@proof
async def test_a_purge_is_known_by_the_messages_too(tmp_path: Path) -> None:
    """A text that was purged is replaced in an export of before; messages that went do not come back, others may."""
    await own_session("own", f"the password is {PASSWORD}", "Thank you.", "and now", "Done.")
    exported, headless, _ = copies_without_a_name("own", tmp_path)
    run("purge", "own", "--redact", PASSWORD, "--yes")
    run("import", exported, "--session", "again")
    assert PASSWORD not in log_of("again").read_text()
    assert "still holds what was removed" in refused(headless)
    await own_session("second", "first", "Yes.", "and now", "Done.")
    before = copies_without_a_name("second", tmp_path)[0]
    fourth = json.loads(run("show", "second", "--json").stdout.splitlines()[2])["message"]["metadata"]["message_id"]
    run("purge", "second", "--before", fourth, "--yes")
    assert "messages of this session were purged here" in refused(before)
    run("export", "second", "-o", tmp_path / "after.jsonl", "--format", "jsonl")
    run("import", tmp_path / "after.jsonl", "--session", "kept")
    assert texts("kept") == ["and now", "Done."]


@proof
async def test_a_fork_and_its_origin_are_told_apart(tmp_path: Path) -> None:
    """A fork has its origin's messages: that the fork was deleted does not forbid an export of the origin."""
    await own_session("own", "first", "Yes.", "second", "Done.")
    run("fork", "own", "--session", "fork")
    run("export", "own", "-o", tmp_path / "own.jsonl", "--format", "jsonl")
    run("copy", "fork", tmp_path / "fork-log.jsonl")
    run("delete", "fork", "--yes")
    run("import", tmp_path / "own.jsonl", "--session", "mine")
    run("import", tmp_path / "fork-log.jsonl", "-o", tmp_path / "x.jsonl", code=2)
    run("delete", "own", "--yes")
    assert "was deleted here on" in refused(tmp_path / "own.jsonl", "--session", "yours")


@proof
def test_messages_with_ids_that_others_use_are_known_by_what_they_say_too(tmp_path: Path) -> None:
    """Some programs number their messages in each session."""

    def numbered(name: str, *texts: str) -> Path:
        lines = [
            {"role": "user", "content": text, "metadata": {"message_id": f"m{number}"}}
            for number, text in enumerate(texts)
        ]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return tmp_path / name

    run("import", numbered("a.jsonl", "one", "two"), "--session", "a")
    run("delete", "a", "--yes")
    run("import", numbered("b.jsonl", "three", "four"), "--session", "b")
    assert "was deleted here on" in refused(numbered("c.jsonl", "zero", "two"), "--session", "c")


@proof(quick=1)
@pytest.mark.parametrize(
    "purge",
    [["--redact", "sk_live_[A-Za-z0-9]+"], ["--redact", KEY], ["--secrets"]],
    ids=["by its expression", "by its hash", "as a secret"],
)
def test_a_purged_text_is_replaced_again(tmp_path: Path, purge: list[str]) -> None:
    """In the same session, under another id, after a deletion too, and in what the source has got since."""
    given = claude_session(tmp_path / "a.jsonl", "c1", f"key {KEY}", "hi")
    run("import", given)
    run("purge", "c1", *purge, "--yes")
    assert texts("c1") == ["key [redacted]", "hi"]
    claude_session(given, "c1", f"key {KEY}", "hi", f"once more: {KEY}.")
    done = run("import", given)
    assert "a text was purged here on" in done.stdout
    assert "1 of them were added" in done.stdout
    assert texts("c1") == ["key [redacted]", "hi", "once more: [redacted]."]
    run("import", given, "--session", "other")
    assert texts("other") == ["key [redacted]", "hi", "once more: [redacted]."]
    assert KEY.encode() not in b"".join(path.read_bytes() for path in Path.home().rglob("*") if path.is_file())
    run("import", given, "--session", "third", "--again")
    assert texts("third")[0] == f"key {KEY}"


@proof(quick=1)
@pytest.mark.parametrize("purge", [["--everything"], ["--before", "c1-2"]], ids=["everything", "before"])
def test_purged_messages_do_not_come_back(tmp_path: Path, purge: list[str]) -> None:
    """What the source has got since is added; under another id nothing is."""
    given = claude_session(tmp_path / "a.jsonl", "c1", f"key {KEY}", "hi", "next", "yes")
    run("import", given)
    run("purge", "c1", *purge, "--yes")
    left = texts("c1")
    assert "0 of them were added" in run("import", given).stdout
    claude_session(given, "c1", f"key {KEY}", "hi", "next", "yes", "new", "sure")
    assert "2 of them were added" in run("import", given).stdout
    assert texts("c1") == [*left, "new", "sure"]
    assert "messages of this session were purged here" in refused(given, "--session", "other")
    assert "delete it, then import it with --again" in refused(given, "--again")


def test_the_note_of_erasures_holds_no_text(tmp_path: Path) -> None:
    """Neither the expression where it is the secret, nor an id, a name or a path; only this user may read it."""
    given = source(tmp_path / "private.jsonl")
    run("import", given, "--session", "one")
    for purge in (
        ["--redact", PASSWORD],
        ["--redact", "h.n[t]er2|the key is sk.live.Zx81mQ0pLw72HdTt93Kk45Bb"],
        ["--secrets"],
    ):
        run("purge", "one", *purge, "--yes")
    run("delete", "one", "--yes")
    noted = erasures_path().read_text()
    for text in (PASSWORD, "ter2", KEY, "Zx81", "private", "the key", "one", "Thank"):
        assert text not in noted, text
    assert os.stat(erasures_path()).st_mode & 0o777 == 0o600


def test_a_purge_that_changes_nothing_leaves_no_rule(tmp_path: Path) -> None:
    """Nor does a deletion that is refused leave a tombstone."""
    given = source(tmp_path / "talk.jsonl")
    run("import", given, "--session", "one")
    run("purge", "one", "--redact", "nowhere", "--yes")
    os.link(log_of("one"), tmp_path / "other name")
    run("purge", "one", "--redact", KEY, "--yes", code=2)
    assert erasures() == []


@pytest.mark.parametrize(
    "texts_taken",
    [["a"], ["hunter2", "hunter22"], ["naïve Grüße", "x" * 300], ["\n", "\ud800"]],
    ids=["short", "two", "letters", "odd"],
)
def test_texts_are_found_by_their_hashes(texts_taken: list[str]) -> None:
    """Wherever they stand, the longest first; nothing else is replaced."""
    taken = TakenHashes.of("salt", texts_taken)
    for text in texts_taken:
        assert taken.replace(f"<{text}>{text}") == "<[redacted]>[redacted]"
    assert taken.replace("HUNTR2") == "HUNTR2"
    assert taken.replace("") == ""


def test_a_removed_text_with_accents_is_found_in_both_unicode_forms() -> None:
    """By its hashes, whichever form the log had."""
    composed, decomposed = normalize("NFC", "Müller"), normalize("NFD", "Müller")
    for removed in (composed, decomposed):
        rule = rule_of("s", secrets=False, expression="M.+ller", taken=[removed])
        assert not rule.expression
        assert rule.is_complete
        assert rule.replace(f"<{composed}><{decomposed}>") == "<[redacted]><[redacted]>"


def test_an_expression_is_kept_if_it_tells_little() -> None:
    """One that nearly spells what it matched is not."""
    assert rule_of("s", secrets=False, expression="sk-[a-z0-9]+", taken=["sk-9f8e7d6c5b4a3f2e1d0c"]).expression
    for expression, text in (
        ("hunter2", "hunter2"),
        ("h[u]nt[e]r.", "hunter2"),
        ("(?i)CORRECT horse battery", "correct Horse battery"),
        ("alice|bob", "alice"),
        (".*", "short"),
    ):
        rule = rule_of("s", secrets=False, expression=expression, taken=[text])
        assert not rule.expression
        assert rule.replace(f"<{text}>") == "<[redacted]>"


def test_a_damaged_note_says_what_it_can() -> None:
    """A torn line is passed over, as is a line without an erasure; a list that cannot be read is an error."""
    names = SourceNames(("log:1",))
    first, second = (erasure_of(names, SESSION, time=f"2026-01-0{day}T09:00:00Z") for day in (1, 2))
    note_erasure(first)
    with erasures_path().open("ab") as file:
        file.write(b'{"checked":1}\n\n{"erased":"sess')
    assert erasures() == [first]
    note_erasure(second)
    assert [one.time for one in erasures()] == [first.time, second.time]
    lift([first])
    assert erasures() == [second]
    note_erasure(erasure_of(SourceNames(), SESSION, time=""))
    assert erasures() == [second]
    erasures_path().unlink()
    erasures_path().mkdir()
    with pytest.raises(OSError, match="no regular file"):
        erasures()


MARK = b'{"torn_before":true}'


@pytest.mark.parametrize("written", [MARK[:1], MARK[:9], MARK])
def test_an_append_that_is_killed_as_it_closes_a_torn_line_says_nothing(written: bytes) -> None:
    """The list can be read at once, and after the next append."""
    names = SourceNames(("log:1",))
    first, second = (erasure_of(names, SESSION, time=f"2026-01-0{day}T09:00:00Z") for day in (1, 2))
    note_erasure(first)
    with erasures_path().open("ab") as file:
        file.write(b'{"erased":"sess')
        file.write(b"\n" + written)
    assert erasures() == [first]
    note_erasure(second)
    assert [one.time for one in erasures()] == [first.time, second.time]


@pytest.mark.parametrize("torn", [b"{", b'{"', b'{"erased', MARK[:3]])
def test_a_whole_line_before_a_torn_one_is_in_force(torn: bytes) -> None:
    """The beginning of a torn line may be the beginning of the mark, too."""
    first = erasure_of(SourceNames(("log:1",)), SESSION, time="2026-01-01T09:00:00Z")
    note_erasure(first)
    with erasures_path().open("ab") as file:
        file.write(torn)
    assert erasures() == [first]


def test_a_sound_last_line_without_its_end_is_in_force_and_stays_so() -> None:
    """A person's editor may save the list so."""
    first, second, third = (
        erasure_of(SourceNames((f"log:{day}",)), SESSION, time=f"2026-01-0{day}T09:00:00Z") for day in (1, 2, 3)
    )
    note_erasures([first, second])
    erasures_path().write_bytes(erasures_path().read_bytes().removesuffix(b"\n"))
    assert erasures() == [first, second]
    note_erasure(third)
    assert erasures() == [first, second, third]
    lift([first])
    erasures_path().write_bytes(erasures_path().read_bytes().removesuffix(b"\n"))
    assert erasures() == [second, third]


@pytest.mark.parametrize("line", [b"[]", b'{"erased":1}', b'{"lifts":4}'])
@pytest.mark.parametrize("after", [b"", b"\n" + MARK + b"\n"], ids=["at the end", "closed"])
def test_a_line_without_its_end_that_can_be_read_is_not_torn(line: bytes, after: bytes) -> None:
    """An append that is killed leaves no such line, so it is not known what it forbids."""
    note_erasure(erasure_of(SourceNames(("log:1",)), SESSION, time="2026-01-01T09:00:00Z"))
    with erasures_path().open("ab") as file:
        file.write(line + after)
    with pytest.raises(OSError, match="line 2 of this list of erasures is damaged"):
        erasures()


def test_a_fifo_in_the_place_of_the_note_is_not_waited_for() -> None:
    """It is an error, since nobody knows what was erased."""
    erasures_path().parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(erasures_path())
    with pytest.raises(OSError, match="no regular file"):
        erasures()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs a device")
def test_a_link_to_a_device_in_the_place_of_the_note_is_not_read() -> None:
    """`/dev/zero` has no end; an empty device would say that nothing was erased."""
    erasures_path().parent.mkdir(parents=True, exist_ok=True)
    erasures_path().symlink_to("/dev/null")
    with pytest.raises(OSError, match="no regular file"):
        erasures()


@pytest.mark.parametrize("line", ["[]", '{"erased":1}', '{"lifts":4}', "\x00\x00", '{"erased":"sess', "[" * 100_000])
def test_a_damaged_line_of_the_list_is_an_error_that_names_it(line: str) -> None:
    """It is not known what it forbids; only a last line without its end is no damage."""
    names = SourceNames(("log:1",))
    note_erasure(erasure_of(names, SESSION, time="2026-01-01T09:00:00Z"))
    with erasures_path().open("a") as file:
        file.write(f"{line}\n")
    note_erasure(erasure_of(names, SESSION, time="2026-01-02T09:00:00Z"))
    with pytest.raises(OSError, match=r"line 2 of this list of erasures is damaged.*remove the line") as told:
        erasures()
    assert told.value.filename == str(erasures_path())


def test_a_title_does_not_come_back_with_an_import(tmp_path: Path) -> None:
    """It says what the messages were about that a purge removed."""
    title = json.dumps({"type": "summary", "summary": f"About {KEY}", "leafUuid": "c1-1"}) + "\n"

    def write(*texts: str) -> Path:
        path = claude_session(tmp_path / "a.jsonl", "c1", *texts)
        path.write_text(title + path.read_text())
        return path

    run("import", write("hello", "hi"))
    assert KEY in log_of("c1").read_text()
    run("purge", "c1", "--everything", "--yes")
    assert "2 of them were added" in run("import", write("hello", "hi", "next", "yes")).stdout
    assert KEY not in log_of("c1").read_text()


def test_a_torn_tail_without_its_log_is_named_by_a_purge_and_goes_with_a_deletion() -> None:
    """A purge of all sessions removes no tail unless it is told to."""
    tail = log_of("gone").with_name("context-messages.jsonl.torn-1-0123abcd")
    tail.parent.mkdir(parents=True)
    tail.write_text(KEY)
    done = run("purge", "--redact", KEY, "--all", "--yes", code=1)
    assert str(tail) in done.stdout
    assert tail.exists()
    assert "this finishes it" in run("delete", "gone", "--yes").stdout
    assert not tail.parent.exists()


ANSWERS = [
    f"Here is part {part} of what you asked for, with the reasons why it is done so and not otherwise."
    for part in "abcd"
]
FORMS = ["claude-code", "codex", "openai"]


async def spoken_session(session_id: str, *, first: str = "the key is secret") -> Path:
    said = [said for answer in ANSWERS for said in (f"{first}: go on", answer)]
    return await own_session(session_id, *said)


def in_form(session_id: str, form: str, directory: Path) -> Path:
    target = directory / f"{session_id}-{form}.{'json' if form == 'openai' else 'jsonl'}"
    run("export", session_id, "-o", target, "--format", form, "--force")
    return target


@pytest.mark.parametrize("form", FORMS)
async def test_a_deleted_session_is_known_in_another_form(tmp_path: Path, form: str) -> None:
    """By what its agent said; also if only a part is left. Told to, an import brings it back."""
    await spoken_session("own")
    copy = in_form("own", form, tmp_path)
    run("delete", "own", "--yes")
    assert "was deleted here on" in refused(copy, "--session", "other")
    run("import", copy, "--session", "back", "--again")
    assert [text for text in texts("back") if text in ANSWERS] == ANSWERS


async def test_plain_messages_without_the_first_ones_are_known(tmp_path: Path) -> None:
    """A list that somebody kept, of which the beginning is lost."""
    await spoken_session("own")
    messages = [json.loads(line) for line in log_of("own").read_bytes().splitlines()]
    plain = [{"role": one["role"], "content": one["content"]} for one in messages if "role" in one][3:]
    (tmp_path / "plain.json").write_text(json.dumps(plain))
    run("delete", "own", "--yes")
    assert "was deleted here on" in refused(tmp_path / "plain.json", "--session", "other")


@pytest.mark.parametrize("form", FORMS)
async def test_a_purge_is_known_in_another_form(tmp_path: Path, form: str) -> None:
    """What it took is replaced again."""
    await spoken_session("own", first=f"the password is {PASSWORD}")
    run("export", "own", "-o", tmp_path / "copy", "--format", form, "--no-redact")
    assert PASSWORD in (tmp_path / "copy").read_text()
    run("purge", "own", "--redact", PASSWORD, "--yes")
    run("import", tmp_path / "copy", "--session", "again")
    assert PASSWORD not in log_of("again").read_text()


async def test_the_words_of_a_person_make_no_session_known(tmp_path: Path) -> None:
    """A program may ask the same every day; nor do a few words of an answer."""
    question = "Look through all orders of yesterday, and write down which of them were not delivered in time, please."
    await own_session(
        "monday",
        question,
        "Three of them: 17, 23 and 40 were late, because the van had a flat tyre in the morning.",
        "Thanks",
        "Done.",
    )
    await own_session(
        "tuesday",
        question,
        "None was late. There were 31 orders, and the last one was delivered at ten to five.",
        "Thanks",
        "Done.",
    )
    copy = in_form("tuesday", "openai", tmp_path)
    run("delete", "monday", "--yes")
    run("import", copy, "--session", "again")
    assert texts("again")[0] == question


async def test_one_standing_phrase_makes_no_session_known(tmp_path: Path) -> None:
    """A refusal, or a greeting, that an agent gives in the same words to everybody."""
    phrase = "I am sorry, but I cannot help with that. Let me know if there is anything else that I can do for you."
    await own_session("one", "Open the safe.", phrase)
    await own_session("two", "Open the door.", phrase)
    copy = in_form("two", "openai", tmp_path)
    run("delete", "one", "--yes")
    run("import", copy, "--session", "again")
    assert texts("again") == ["Open the door.", phrase]


@pytest.mark.parametrize("form", FORMS)
async def test_a_session_deleted_after_a_purge_is_known_in_a_file_from_before(tmp_path: Path, form: str) -> None:
    """By the line of the purge, since the deleted log no longer had its answers as they were."""
    said = [text for answer in ANSWERS for text in ("Go on.", f"{answer} The password is {PASSWORD}.")]
    await own_session("own", *said)
    run("export", "own", "-o", tmp_path / "copy", "--format", form, "--no-redact")
    run("purge", "own", "--redact", PASSWORD, "--yes")
    run("delete", "own", "--yes")
    assert "was deleted here on" in refused(tmp_path / "copy", "--session", "again")


def test_a_directory_reads_the_list_of_erasures_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each file; and what another process adds between two files holds from the next file on."""
    files = [claude_session(tmp_path / "other" / f"s{n}.jsonl", f"s{n}", "one", "two") for n in range(4)]
    assert run("import", str(files[3])).exit_code == 0
    assert run("delete", "s3", "--yes").exit_code == 0
    reads = []
    read_bytes = Path.read_bytes

    def counted(path: Path) -> bytes:
        reads.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    results = import_all([str(path) for path in files])
    first = [next(results), next(results)]
    assert [one.is_erased for one in first] == [False, False]
    assert reads.count(erasures_path()) == 1
    names = SourceNames(("id:claude-code:s2:",))
    note_erasure(erasure_of(names, SESSION, time="2026-11-28T00:00:00Z"))
    assert [one.is_erased for one in results] == [True, True]
    assert reads.count(erasures_path()) == 2
