"""Reports opened in Chromium, from a file, as whoever gets one opens it."""

import asyncio
import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent.toolbox.replay import open_transcript
from amplifier_module_context_persistent.toolbox.report import report
from benchmarks.chromium import Chromium
from fixtures.generate import generate_session
from tests.support.opened_pages import show
from tests.support.recorded_sessions import record


@pytest.fixture(scope="package")
def tab(tmp_path_factory):
    """The page of a browser that goes from report to report: a new page takes longer than most tests do."""
    with Chromium.start(tmp_path_factory.mktemp("chromium")) as running:
        yield running.open()


@pytest.fixture(scope="package")
def compacted(tmp_path_factory):
    """The log of a session that was compacted many times; beside it its report, with all that the model saw."""
    log = tmp_path_factory.mktemp("compacted") / "log.jsonl"
    asyncio.run(record(log, generate_session(7, 90, mean_bytes=0), max_tokens=6_000))
    with open_transcript(log) as transcript:
        report(transcript, log.with_suffix(".html"), views="all")
    return log


@pytest.fixture
def opened(tab, tmp_path):
    """Open the report of messages or of a log, and make it where it is not there; nothing may go wrong in it."""
    addresses = []

    def opened(session, *, hash_="", **sizes):
        source = tmp_path / "session.jsonl" if isinstance(session, list) else Path(session)
        if isinstance(session, list):
            source.write_text("".join(json.dumps(one) + "\n" for one in session), encoding="utf-8")
        place = source.with_suffix(".html")
        if not place.exists():
            with open_transcript(source) as transcript:
                report(transcript, place)
        addresses.append(f"file://{place}")
        show(tab, addresses[-1] + hash_, **sizes)
        tab.wait("document.documentElement?.dataset.state === 'loaded'")
        return tab

    yield opened
    if addresses:
        assert tab.events("Runtime.exceptionThrown") == []
        asked = {event["request"]["url"].partition("#")[0] for event in tab.events("Network.requestWillBeSent")}
        assert {address for address in asked if not address.startswith("data:")} == {addresses[-1]}
        assert tab.events("Page.javascriptDialogOpening") == []
