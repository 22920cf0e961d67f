"""`reports` into the same directory: pages of sessions that are gone go, and so does what was purged."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.support.commands import run
from tests.support.kills import kills
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof, whole

pytestmark = pytest.mark.usefixtures("project")

KEY = "zebrastripe meyer"
PAGES = Path("pages")


def say(session: str, text: str = f"I am {KEY}") -> Path:
    log = write(log_of(session), [{"role": "user", "content": f"{text} ({session})"}])
    hour_ago = time.time() - 3600
    os.utime(log, (hour_ago, hour_ago))
    return log


def again(*more: str) -> str:
    return run("reports", str(PAGES), *more).stderr


def names() -> list[str]:
    return sorted(path.name for path in PAGES.glob("*.html"))


def holders() -> list[str]:
    return sorted(path.name for path in PAGES.iterdir() if KEY.encode() in path.read_bytes())


def test_what_was_purged_and_deleted_goes(project: Path) -> None:
    """From the pages and from the list of them."""
    say("one")
    say("two")
    again()
    assert holders() == ["index.html", "report-one.html", "report-two.html"]
    run("purge", "one", "--redact", KEY, "--yes")
    run("delete", "two", "--yes")
    assert "report-two.html: its session is gone; the page was removed" in again()
    assert names() == ["index.html", "report-one.html"]
    assert holders() == []
    assert "removed" not in again()


def test_pages_of_others_stay(project: Path) -> None:
    """Those that were copied there, changed, or made of another home, and what is no page."""
    for session in ("one", "two", "three"):
        say(session)
    again()
    shutil.copy(PAGES / "report-one.html", PAGES / "kept.html")
    (PAGES / "report-two.html").write_text((PAGES / "report-two.html").read_text() + "<!-- mine -->")
    run("report", "three", "-o", str(PAGES / "other.html"))
    (PAGES / "notes.txt").write_text("mine")
    run("prune", "--everything", "--yes")
    say("four")
    told = again()
    assert "report-two.html: its session is gone; the page was changed, and stays" in told
    assert names() == ["index.html", "kept.html", "other.html", "report-four.html", "report-two.html"]
    assert (PAGES / "notes.txt").exists()
    told = json.loads(run("reports", str(PAGES), "--json").stdout)
    assert (told["removed"], told["changed"], told["listed"]) == ([], ["report-two.html"], 4)


def test_pages_of_another_home_are_not_judged_from_this_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are those of this one while its directory is missing, as on a disk that is not connected."""
    say("one")
    again()
    there = project / "there"
    there.mkdir()
    home = Path.home()
    monkeypatch.setenv("HOME", str(there))
    say("other")
    again()
    assert names() == ["index.html", "report-one.html", "report-other.html"]
    monkeypatch.setenv("HOME", str(home))
    (home / ".amplifier" / "projects").rename(home / "elsewhere")
    run("reports", str(PAGES), code=2)
    assert names() == ["index.html", "report-one.html", "report-other.html"]


def test_a_session_of_another_project_is_not_gone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory may have the pages of several projects."""
    say("one")
    again()
    pages = Path.cwd() / PAGES
    (project / "second").mkdir()
    monkeypatch.chdir(project / "second")
    say("two")
    run("reports", str(pages))
    assert sorted(path.name for path in pages.glob("report-*")) == ["report-one.html", "report-two.html"]
    log_of("two").parent.rename(log_of("two").parents[1] / "renamed")
    run("reports", str(pages))
    assert sorted(path.name for path in pages.glob("report-*")) == ["report-one.html", "report-renamed.html"]


def test_the_page_of_the_last_session_goes_too(project: Path) -> None:
    """Although there is nothing to make pages of."""
    say("one")
    again()
    run("delete", "one", "--yes")
    shown = run("reports", str(PAGES), code=2).stderr
    assert "report-one.html: its session is gone; the page was removed" in shown
    assert names() == ["index.html"]
    assert holders() == []


def test_a_deleted_sub_agent_goes_from_the_page_of_its_session(project: Path) -> None:
    """And so does its name, if that alone is changed."""
    say("one", "nothing here")
    say("one-0123456789abcdef_helper")
    again()
    assert "report-one-0123456789abcdef_helper.html" in names()
    run("delete", "one-0123456789abcdef_helper", "--yes")
    assert "1 made" in again()
    assert names() == ["index.html", "report-one.html"]
    assert holders() == []


def test_a_changed_name_is_shown(project: Path) -> None:
    """The host's file with it is newer than the page."""
    log = say("one", "nothing here")
    log.with_name("metadata.json").write_text(json.dumps({"session_id": "one", "name": f"About {KEY}"}))
    again()
    assert "index.html" in holders()
    log.with_name("metadata.json").write_text(json.dumps({"session_id": "one", "name": "About it"}))
    os.utime(log.with_name("metadata.json"), (time.time() + 60, time.time() + 60))
    again()
    assert holders() == []


def test_the_note_of_pages_tells_nothing_and_survives_damage(project: Path) -> None:
    say("one")
    again()
    note = PAGES / ".context-reports.json"
    assert str(Path.home()) not in note.read_text()
    assert KEY not in note.read_text()
    for damage in (
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 1, "pages": {"../x": {}, "report-one.html": {"below": 1}}}',
    ):
        note.write_text(damage)
        again()
    assert names() == ["index.html", "report-one.html"]


@proof
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the operation runs in a forked child")
@pytest.mark.parametrize("when", ["first", "again"])
def test_reports_that_were_killed_leave_nothing_of_what_was_erased(project: Path, when: str) -> None:
    """Neither a page nor the list, after the next run."""

    def prepare() -> None:
        shutil.rmtree(PAGES, ignore_errors=True)
        for session in ("one", "two"):
            if log_of(session).parent.exists():
                run("delete", session, "--yes")
            say(session)
        if when == "again":
            again()
            run("purge", "one", "--redact", KEY, "--yes")
            run("delete", "two", "--yes")

    count = 0
    for count in kills(again, prepare):
        if not whole() and count % 3:
            continue
        run("purge", "--redact", KEY, "--all", "--yes")
        run("delete", "two", "--yes", code=None)
        again()
        assert holders() == [], count
        assert "report-two.html" not in names(), count
        assert not list(PAGES.glob("*.part")), count
    assert count > 8
