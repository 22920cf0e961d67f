"""The page on a phone, in print, and where what it shows is long."""

import pytest

from benchmarks.chromium import BROWSER, WHY_NOT
from tests.support.opened_pages import DRAWN, TEXT, press_button
from tests.support.sweeps import proof

pytestmark = [proof, pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)]

PHONE = {"width": 390, "height": 844}
HEAD = "document.getElementById('top').getBoundingClientRect().height"
IS_IN_SIGHT = "document.getElementById('contents').checkVisibility()"
CUT_FIGURES = """[...document.querySelectorAll('.figures tbody td:not(:first-child), .figures th:not(:first-child)')]
  .filter((cell) => cell.getBoundingClientRect().height > 0 && cell.textContent.length > 0)
  .filter((cell) => {
    const range = new Range();
    range.selectNodeContents(cell);
    return range.getClientRects().length > 1;
  }).map((cell) => cell.textContent)"""


def test_the_head_leaves_a_phone_to_the_messages(opened, compacted):
    """A fifth of the height at most, a third with what the model saw; nothing is wider than the screen."""
    page = opened(compacted, **PHONE)
    assert page.run(HEAD) <= PHONE["height"] / 5
    page.run("location.hash = '#request-20'")
    page.wait("!document.getElementById('seen').hidden")
    assert page.run(HEAD) <= PHONE["height"] / 3 + 10
    assert page.run("document.documentElement.scrollWidth") <= PHONE["width"]
    page.resize(844, 390, mobile=True)
    page.run("location.hash = '#turn-1'")
    press_button(page, "Close")
    assert page.run(HEAD) <= 390 / 3


def test_a_phone_has_the_list_of_turns(opened):
    """A button opens it over the messages; a turn that is chosen is gone to, and the list closes; so does Escape."""
    page = opened([{"role": "user", "content": f"Question {number}"} for number in range(60)], **PHONE)
    assert not page.run(IS_IN_SIGHT)
    press_button(page, "Turns")
    assert page.run(IS_IN_SIGHT)
    page.run("[...document.querySelectorAll('.entry a')].find((one) => one.textContent.includes('Question 7')).click()")
    page.wait(f"{TEXT}.includes('Question 7')")
    assert not page.run(IS_IN_SIGHT)
    press_button(page, "Turns")
    page.press("Escape")
    assert not page.run(IS_IN_SIGHT)
    assert page.run("document.activeElement.id") == "turns-button"
    press_button(page, "Turns")
    page.run("document.querySelectorAll('.entry input')[0].click()")
    assert page.run(IS_IN_SIGHT)


def test_counts_stand_beside_the_search_box(opened):
    """Neither the counts of the head, however long the names of relatives, nor those of a search lie under it."""
    session = [{"role": "user", "content": f"needle {number}"} for number in range(1200)]
    page = opened(session, width=390)
    page.run(
        "document.getElementById('facts').append("
        "Object.assign(document.createElement('span'), {textContent: 'x'.repeat(120)}))"
    )
    page.run("document.getElementById('find').focus()")
    page.type("needle")
    page.press("Enter")
    page.wait("/^1 of 1,200$/.test(document.getElementById('found').textContent)")
    box = "document.getElementById('find').getBoundingClientRect()"
    found = "document.getElementById('found').getBoundingClientRect()"
    tools = "document.querySelector('.tools').getBoundingClientRect()"
    facts = "[...document.querySelectorAll('#facts span')].map((one) => one.getBoundingClientRect())"
    for width in (390, 700, 1000, 1280):
        page.resize(width, 900)
        assert page.run("document.documentElement.clientWidth") == width
        assert page.run(f"{found}.left >= {box}.right && {box}.width >= 45")
        assert page.run("document.documentElement.scrollWidth") <= width
        if width > 640:
            assert page.run(f"{facts}.every((one) => one.right <= {tools}.left || one.bottom <= {tools}.top)")


def test_figures_are_not_broken(opened):
    """A number and a word stand on one line each; a column without a figure is left out; wide tables can be moved."""
    session = [{"role": "user", "content": "A question about everything " * 4}]
    for number in range(30):
        call = {"id": f"c{number}", "tool": "a_tool_with_a_long_name", "arguments": {}}
        usage = {"input_tokens": 1_234_567, "cache_read_tokens": 1_034_567, "output_tokens": 54_321}
        said = {"model": "claude-opus-4-5", "usage": usage, "timestamp": "2026-03-01T10:00:00Z"}
        session.append({"role": "assistant", "content": "", "tool_calls": [call], "metadata": said})
        session.append({"role": "tool", "tool_call_id": f"c{number}", "content": "word " * 4000})
    page = opened(session)
    page.run("document.getElementById('figures-button').click()")
    page.run(DRAWN)
    assert "37,037,010" in page.run("document.getElementById('dialog').innerText")
    heads = page.run("[...document.querySelectorAll('.figures th')].map((one) => one.textContent)")
    assert "went wrong" not in heads
    assert "cost" in heads
    for width in (1280, 390):
        page.resize(width, 900)
        assert page.run(CUT_FIGURES) == []
        assert page.run(
            "document.getElementById('dialog').scrollWidth <= document.getElementById('dialog').clientWidth"
        )


def test_paper_says_what_is_on_it(opened):
    """The title, the session, which turns of how many, and the counts apart from each other; dark on white always."""
    page = opened([{"role": "user", "content": f"Question {number}"} for number in range(9)])
    page.run("document.documentElement.dataset.theme = 'dark'")
    for turn in (1, 2, 3, 6):
        page.run(f"document.querySelectorAll('.entry input')[{turn}].click()")
    page.run(
        "addEventListener('beforeprint', () => {"
        " window.printed = [...document.querySelectorAll('.print-head > *')].map((one) => one.textContent); })"
    )
    assert page.send("Page.printToPDF", printBackground=True)["data"]
    head = ["Question 0", "Session session · turns 2-4, 7 of 9", "In all: 9 turns · 9 messages · 0 calls"]
    assert page.run("window.printed") == head
    page.send("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.body).color") == "rgb(35, 33, 29)"
