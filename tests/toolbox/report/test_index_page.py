"""The page that lists reports: made of the reports alone, newest first, safe, one file."""

import re
import stat
from pathlib import Path

import pytest

from amplifier_module_context_persistent.errors import ReplaceError
from amplifier_module_context_persistent.toolbox.replay import open_transcript
from amplifier_module_context_persistent.toolbox.report import report, write_index
from benchmarks.chromium import BROWSER, WHY_NOT, Page
from tests.support.commands import shows
from tests.support.imports import write_jsonl
from tests.support.opened_pages import show
from tests.support.sweeps import proof


def make(directory: Path, name: str, text: str, day: int = 1, model: str = "claude-opus-4-5", month: int = 3) -> None:
    """Put a report of a session of two messages into a directory."""
    time = {"timestamp": f"2026-{month:02}-0{day}T10:00:00Z"}
    usage = {"model": model, "usage": {"input_tokens": 200_000, "output_tokens": 10}}
    session = [
        {"role": "user", "content": text, "metadata": time},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "tool": "t", "arguments": {}}],
            "metadata": {**time, **usage},
        },
    ]
    with open_transcript(write_jsonl(directory.parent / f"{name}.jsonl", session)) as transcript:
        report(transcript, directory / f"report-{name}.html")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two reports, and what is none."""
    place = tmp_path / "reports"
    place.mkdir()
    make(place, "a1", "The older one", day=1)
    make(place, "b 2", "<script>alert(1)</script> & the newer one", day=2)
    (place / "other.html").write_text("<html>not ours</html>")
    (place / "alike.html").write_text('<script type="text/plain" id="session">{"title": "alike"}</script>')
    (place / "broken.html").write_text('<script type="text/plain" id="session">{"redacts": </script>')
    return place


def test_it_lists_the_reports_newest_first(directory: Path) -> None:
    """With their counts and costs; other pages are passed over, and the list is not one of them the second time."""
    for _ in range(2):
        path, listed = write_index(directory)
        assert (path, listed) == (str(directory / "index.html"), 2)
    page = Path(path).read_text("utf-8")
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert page.index("the newer one") < page.index("The older one")
    shows(
        page,
        'href="report-b%202.html"',
        "2026-03-01 10:00 · 1 turn · 2 messages · 1 call · <em>1 went wrong</em> · 200,000 tokens read · $1.00",
        "2 reports · 4 messages · 2 calls · 400,000 tokens read · $2.00",
    )
    assert page.count("<script") == page.count("<script>") == 1
    assert "other.html" not in page


def test_another_index_is_not_replaced_unasked(directory: Path) -> None:
    """A page that is no such list stays, unless that is asked for; a log stays in any case."""
    place = directory / "index.html"
    place.write_text("<!doctype html>\n<html>mine</html>")
    with pytest.raises(FileExistsError):
        write_index(directory)
    assert place.read_text() == "<!doctype html>\n<html>mine</html>"
    assert write_index(directory, force=True)[1] == 2
    place.unlink()
    place.write_text('{"role":"user","content":"hi"}\n')
    with pytest.raises(ReplaceError):
        write_index(directory, force=True)


def test_a_directory_without_reports_has_an_empty_list(tmp_path: Path) -> None:
    """It says so; a directory that is not there is an error."""
    path, listed = write_index(tmp_path)
    assert listed == 0
    assert "0 reports" in Path(path).read_text("utf-8")
    with pytest.raises(FileNotFoundError):
        write_index(tmp_path / "nowhere")


def test_costs_are_drawn_by_week(directory: Path) -> None:
    """From the first week with a cost to the last, with those between; a list without costs has no chart."""
    make(directory, "c", "Four weeks later", month=3, day=9)
    make(directory, "d", "A cheaper one", model="claude-haiku-4-5", month=4, day=1)
    page = Path(write_index(directory)[0]).read_text("utf-8")
    weeks = re.findall(r"<title>week of (\S+): (\S+)</title>", page)
    assert weeks == [
        ("2026-02-23", "$1.00"),
        ("2026-03-02", "$1.00"),
        ("2026-03-09", "$1.00"),
        ("2026-03-16", "nothing"),
        ("2026-03-23", "nothing"),
        ("2026-03-30", "$0.20"),
    ]
    assert "2026-02-23 to 2026-03-30; the highest is $1.00" in page
    for report_page in directory.glob("report-*.html"):
        report_page.unlink()
    assert "<svg" not in Path(write_index(directory)[0]).read_text("utf-8")


@proof
@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
def test_words_narrow_the_list_and_it_is_sorted(directory: Path, tab: Page) -> None:
    """By title and model, in any case; the sums are of what is shown."""
    make(directory, "c", "A cheaper one", model="claude-haiku-4-5", day=3)
    write_index(directory)
    show(tab, f"file://{directory}/index.html")
    tab.wait("document.readyState === 'complete'")
    titles = "[...document.querySelectorAll('#rows a')].map((link) => link.textContent).join('|')"
    newer = "<script>alert(1)</script> & the newer one"
    assert tab.run(titles) == f"A cheaper one|{newer}|The older one"

    def narrow(words: str) -> None:
        tab.run(f"document.querySelector('#filter').value = {words!r}")
        tab.run("document.querySelector('#filter').dispatchEvent(new Event('input'))")

    narrow("OPUS older")
    assert tab.run(titles) == "The older one"
    assert (
        tab.run("document.querySelector('#sums').textContent")
        == "1 report · 2 messages · 1 call · 200,000 tokens read · $1.00"
    )
    narrow("nowhere")
    assert tab.run(titles) == ""
    assert tab.run("document.querySelector('#none').hidden") is False
    narrow("")
    tab.run("document.querySelector('#sort').value = 'cost'")
    tab.run("document.querySelector('#sort').dispatchEvent(new Event('change'))")
    assert tab.run(titles).endswith("|A cheaper one")


@proof
@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
def test_a_link_opens_the_report(directory: Path, tab: Page) -> None:
    """In the browser, on a phone too; titles are text, and the sheet applies under the page's policy."""
    write_index(directory)
    show(tab, f"file://{directory}/index.html")
    tab.wait("document.readyState === 'complete'")
    assert tab.run("document.querySelector('a').textContent") == "<script>alert(1)</script> & the newer one"
    for width in (1280, 390):
        tab.resize(width, 844)
        assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("getComputedStyle(document.querySelector('ol')).listStyleType") == "none"
    tab.run("document.querySelector('a').click()")
    tab.wait("document.documentElement?.dataset.state === 'loaded'")
    assert tab.events("Page.javascriptDialogOpening") == []
