"""`context-persistent report`: a session as one page."""

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.cli import main
from fixtures.generate import generate_session
from tests.support.pages import read_page
from tests.support.projects import two_projects
from tests.support.sessions_of_a_home import log_of


@pytest.fixture
async def session(tmp_path):
    """A recorded session with receipts and compactions."""
    manager = PersistentContextManager(
        tmp_path / "s.jsonl", max_tokens=12_000, tokenizer="estimate", durability="write"
    )
    for message in generate_session(7, 60, mean_bytes=0):
        if message["role"] == "assistant":
            await manager.get_messages_for_request()
        await manager.add_message(message)
    await manager.close()
    return tmp_path / "s.jsonl"


def run(*arguments):
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


async def test_a_report_is_made_and_said(session, tmp_path):
    """Its path on the standard output, what it holds on the error stream."""
    done = run(session, "-o", tmp_path / "s.html")
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "s.html")
    assert "60 messages" in done.stderr
    assert "proved" in done.stderr
    assert len(read_page(tmp_path / "s.html").bodies) == 60


async def test_without_a_name_it_is_named_by_the_session(session, tmp_path, monkeypatch):
    """In the working directory; a second time it is refused, and --force replaces it."""
    monkeypatch.chdir(tmp_path)
    assert run(session).exit_code == 0
    assert (tmp_path / "report-s.html").exists()
    again = run(session)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run(session, "--force").exit_code == 0


async def test_json_says_what_was_made(session, tmp_path):
    """One object: path, size, counts."""
    done = run(session, "-o", tmp_path / "s.html", "--json", "--turns", "1")
    told = json.loads(done.stdout)
    assert told["path"] == str(tmp_path / "s.html")
    assert told["turns"] == 1
    assert told["size_bytes"] == (tmp_path / "s.html").stat().st_size
    assert told["views_not_proved"] == 0


async def test_views_can_be_left_out(session, tmp_path):
    """Then no view is made again, and nothing is said to be proved."""
    told = json.loads(run(session, "-o", tmp_path / "s.html", "--json", "--views", "none").stdout)
    assert told["requests"] > 0
    assert told["views_proved"] == told["views_not_proved"] == 0
    assert read_page(tmp_path / "s.html").head["requests"]["epochs"] == []


@pytest.mark.parametrize("wrong", [("--turns", "9"), ("--turns", "x"), ("--views", "most")])
async def test_what_cannot_be_is_refused(session, tmp_path, wrong):
    """Exit code 2, and no file."""
    assert run(session, "-o", tmp_path / "s.html", *wrong).exit_code == 2
    assert not (tmp_path / "s.html").exists()


def test_missing_and_damaged_sessions(tmp_path):
    """What is not there exits 2; what can be read of a damaged log is shown."""
    assert run(tmp_path / "none.jsonl", "-o", tmp_path / "s.html").exit_code == 2
    (tmp_path / "d.jsonl").write_bytes(b'{"role":"user","content":"hi"}\n\xff\xfe nothing\n{"role":"assistant","con')
    assert run(tmp_path / "d.jsonl", "-o", tmp_path / "s.html").exit_code == 0
    assert read_page(tmp_path / "s.html").bodies == [[["t", "hi"]]]
    (tmp_path / "no.jsonl").write_text("root:x:0:0\ndaemon:x:1:1\n")
    refused = run(tmp_path / "no.jsonl", "-o", tmp_path / "no.html")
    assert refused.exit_code == 2
    assert "no.jsonl" in refused.stderr
    assert not (tmp_path / "no.html").exists()


@pytest.fixture
def opened(monkeypatch):
    """The addresses that a browser was asked to open; none is there if a test takes `True` out of the list."""
    asked = []
    monkeypatch.setattr("webbrowser.open", lambda address: asked.append(address) or not address.endswith("none.html"))
    return asked


async def test_open_shows_the_page_in_the_browser(session, tmp_path, opened):
    """By its whole path; where there is no browser, the command says where the page is."""
    done = run(session, "-o", tmp_path / "s é.html", "--open")
    assert done.exit_code == 0
    assert opened == [(tmp_path / "s é.html").as_uri()]
    done = run(session, "-o", tmp_path / "none.html", "--open")
    assert done.exit_code == 0
    assert "no browser" in done.stderr
    assert run(session, "-o", tmp_path / "t.html").exit_code == 0
    assert len(opened) == 2


def reports(*arguments):
    return CliRunner().invoke(main, ["reports", *map(str, arguments)])


def test_reports_are_made_of_a_projects_sessions(tmp_path, monkeypatch, opened):
    """Each one once, again where its log is newer; what cannot be read is named, and the others are made."""
    two_projects(tmp_path, monkeypatch)
    done = reports("--open")
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "here" / "reports" / "index.html")
    assert "3 reports, 3 made." in done.stderr
    assert opened == [(tmp_path / "here" / "reports" / "index.html").as_uri()]
    assert sorted(path.name for path in Path("reports").iterdir()) == [
        "index.html",
        *(f"report-{name}.html" for name in ("both-1", "first", "fist")),
    ]
    assert "3 reports, 0 made." in reports().stderr
    assert "3 reports, 3 made." in reports("--force", "--no-redact").stderr
    assert Path("reports/index.html").read_text("utf-8").count("nothing redacted") == 3
    assert "3 reports, 3 made." in reports("--force").stderr
    assert "nothing redacted" not in Path("reports/index.html").read_text("utf-8")
    log = log_of("first")
    log.write_text(log.read_text() + '{"role":"assistant","content":"Hi."}\n')
    os.utime(log, (time.time() + 60, time.time() + 60))
    assert "3 reports, 1 made." in reports().stderr
    log_of("fist").write_bytes(b"\x00" * 99)
    os.utime(log_of("fist"), (time.time() + 60, time.time() + 60))
    done = reports()
    assert done.exit_code == 1
    assert "fist: " in done.stderr
    assert "1 failed" in done.stderr
