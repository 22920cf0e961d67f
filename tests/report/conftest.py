"""Reports opened in Chromium, from a file, as whoever gets one opens it."""

import json

import pytest

from amplifier_module_context_persistent.replay import open_transcript
from amplifier_module_context_persistent.report import report
from benchmarks.chromium import Chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium.start(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def opened(browser, tmp_path):
    """Make a report of messages or of a log and open it; nothing may go wrong in it."""
    pages = []

    def opened(session, *, hash_="", width=1280, height=900, **options):
        source = session
        if isinstance(session, list):
            source = tmp_path / "session.jsonl"
            source.write_text("".join(json.dumps(one) + "\n" for one in session), encoding="utf-8")
        with open_transcript(source) as transcript:
            report(transcript, tmp_path / "session.html", force=True, **options)
        page = browser.open(f"file://{tmp_path}/session.html{hash_}", width=width, height=height)
        pages.append(page)
        page.wait("document.documentElement?.dataset.state === 'loaded'")
        return page

    yield opened
    for page in pages:
        assert page.events("Runtime.exceptionThrown") == []
        asked = {event["request"]["url"].partition("#")[0] for event in page.events("Network.requestWillBeSent")}
        assert {address for address in asked if not address.startswith("data:")} == {f"file://{tmp_path}/session.html"}
        assert page.events("Page.javascriptDialogOpening") == []
        page.send("Page.close")
