"""`context-persistent report`: a session as one page."""

import asyncio
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from fixtures.generate import generate_session
from tests.support.commands import refused, run, shows
from tests.support.pages import read_page
from tests.support.projects import two_projects
from tests.support.recorded_sessions import record
from tests.support.sessions_of_a_home import log_of
from tests.support.sweeps import proof


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The log of a session with receipts and compactions."""
    path = tmp_path_factory.mktemp("recorded") / "s.jsonl"
    asyncio.run(record(path, generate_session(7, 60, mean_bytes=0), max_tokens=12_000))
    return path


@pytest.fixture
def session(tmp_path, recorded):
    """That log, to be done with what a test likes."""
    return shutil.copy(recorded, tmp_path / "s.jsonl")


@proof
def test_a_report_is_made_and_said(session, tmp_path):
    """Its path on the standard output, what it holds on the error stream."""
    done = run("report", session, "-o", tmp_path / "s.html")
    assert done.stdout.strip() == str(tmp_path / "s.html")
    shows(done.stderr, "60 messages", "proved")
    assert len(read_page(tmp_path / "s.html").bodies) == 60


@proof
def test_without_a_name_it_is_named_by_the_session(session, tmp_path, monkeypatch):
    """In the working directory; a second time it is refused, and --force replaces it."""
    monkeypatch.chdir(tmp_path)
    run("report", session)
    assert (tmp_path / "report-s.html").exists()
    assert "--force" in run("report", session, code=2).stderr
    run("report", session, "--force")


@proof
def test_a_log_is_not_replaced(session, tmp_path):
    """Neither the session's own, also through a link, nor another; --force changes nothing about it."""
    (tmp_path / "link.html").symlink_to(session)
    other = shutil.copy(session, tmp_path / "other.jsonl")
    before = session.read_bytes()
    for target in (session, tmp_path / "link.html", other):
        shows(
            refused("report", session, "-o", target, "--force"), str(target), "which is not replaced; name another file"
        )
    assert session.read_bytes() == other.read_bytes() == before


@proof
def test_json_says_what_was_made(session, tmp_path):
    """One object: path, size, counts."""
    told = json.loads(run("report", session, "-o", tmp_path / "s.html", "--json", "--turn", "1").stdout)
    assert told["path"] == str(tmp_path / "s.html")
    assert told["turns"] == 1
    assert told["size_bytes"] == (tmp_path / "s.html").stat().st_size
    assert told["views_not_proved"] == 0


@proof
def test_views_can_be_left_out(session, tmp_path):
    """Then no view is made again, and nothing is said to be proved."""
    told = json.loads(run("report", session, "-o", tmp_path / "s.html", "--json", "--views", "none").stdout)
    assert told["requests"] > 0
    assert told["views_proved"] == told["views_not_proved"] == 0
    assert read_page(tmp_path / "s.html").head["requests"]["epochs"] == []


@pytest.mark.parametrize("wrong", [("--turn", "9"), ("--turn", "x"), ("--views", "most")])
def test_what_cannot_be_is_refused(session, tmp_path, wrong):
    """Exit code 2, and no file."""
    run("report", session, "-o", tmp_path / "s.html", *wrong, code=2)
    assert not (tmp_path / "s.html").exists()


def test_missing_and_damaged_sessions(tmp_path):
    """What is not there exits 2; what can be read of a damaged log is shown."""
    run("report", tmp_path / "none.jsonl", "-o", tmp_path / "s.html", code=2)
    (tmp_path / "d.jsonl").write_bytes(b'{"role":"user","content":"hi"}\n\xff\xfe nothing\n{"role":"assistant","con')
    run("report", tmp_path / "d.jsonl", "-o", tmp_path / "s.html")
    assert read_page(tmp_path / "s.html").bodies == [[["t", "hi"]]]
    (tmp_path / "no.jsonl").write_text("root:x:0:0\ndaemon:x:1:1\n")
    assert "no.jsonl" in run("report", tmp_path / "no.jsonl", "-o", tmp_path / "no.html", code=2).stderr
    assert not (tmp_path / "no.html").exists()


@pytest.fixture
def opened(monkeypatch):
    """The addresses that a browser was asked to open; none is there if a test takes `True` out of the list."""
    asked = []
    monkeypatch.setattr("webbrowser.open", lambda address: asked.append(address) or not address.endswith("none.html"))
    return asked


@proof
def test_open_shows_the_page_in_the_browser(session, tmp_path, opened):
    """By its whole path; where there is no browser, the command says where the page is."""
    run("report", session, "-o", tmp_path / "s é.html", "--open")
    assert opened == [(tmp_path / "s é.html").as_uri()]
    assert "no browser" in run("report", session, "-o", tmp_path / "none.html", "--open").stderr
    run("report", session, "-o", tmp_path / "t.html")
    assert len(opened) == 2


def test_reports_replace_no_other_index_unasked(tmp_path, monkeypatch):
    """Refused before any report is made; the error says what replaces it."""
    two_projects(tmp_path, monkeypatch)
    Path("site").mkdir()
    Path("site/index.html").write_text("mine")
    shows(refused("reports", "site"), "index.html", "--force replaces a file")
    assert [path.name for path in Path("site").iterdir()] == ["index.html"]
    assert Path("site/index.html").read_text() == "mine"
    run("reports", "site", "--force")
    assert "3 reports, 0 made." in run("reports", "site").stderr


def test_reports_are_made_of_a_projects_sessions(tmp_path, monkeypatch, opened):
    """Each one once, again where its log is newer; what cannot be read is named, and the others are made."""
    two_projects(tmp_path, monkeypatch)
    done = run("reports", "--open")
    assert done.stdout.strip() == str(tmp_path / "here" / "reports" / "index.html")
    assert "3 reports, 3 made." in done.stderr
    assert opened == [(tmp_path / "here" / "reports" / "index.html").as_uri()]
    assert sorted(path.name for path in Path("reports").glob("*.html")) == [
        "index.html",
        *(f"report-{name}.html" for name in ("both-1", "first", "fist")),
    ]
    assert "3 reports, 0 made." in run("reports").stderr
    assert "3 reports, 3 made." in run("reports", "--force", "--no-redact").stderr
    assert Path("reports/index.html").read_text("utf-8").count("nothing redacted") == 3
    assert "3 reports, 3 made." in run("reports", "--force").stderr
    assert "nothing redacted" not in Path("reports/index.html").read_text("utf-8")
    log = log_of("first")
    log.write_text(log.read_text() + '{"role":"assistant","content":"Hi."}\n')
    os.utime(log, (time.time() + 60, time.time() + 60))
    assert "3 reports, 1 made." in run("reports").stderr
    log_of("fist").write_bytes(b"\x00" * 99)
    os.utime(log_of("fist"), (time.time() + 60, time.time() + 60))
    shows(run("reports", code=1).stderr, "fist: ", "1 failed")
