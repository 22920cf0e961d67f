"""The browser that the pages' tests drive."""

from pathlib import Path

import pytest

from benchmarks.chromium import BROWSER, WHY_NOT, BrowserError, Chromium, Page, PageLeftError


@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
def test_a_script_that_leaves_its_page_says_so(tmp_path: Path) -> None:
    """The page that comes next can be waited for."""
    (tmp_path / "one.html").write_text("<title>one</title>", "utf-8")
    (tmp_path / "two.html").write_text("<title>two</title>", "utf-8")
    with Chromium.start(tmp_path / "chromium") as browser:
        page = browser.open(f"file://{tmp_path}/one.html")
        page.wait("document.title === 'one'")
        with pytest.raises(PageLeftError):
            page.run("new Promise(() => { location.href = 'two.html' })")
        page.wait("document.title === 'two'")


def test_waiting_asks_the_page_that_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is left while it is asked is no answer; any other error is one."""
    answers: list[bool | BrowserError] = [False, PageLeftError("navigated or closed"), True, BrowserError("no")]

    def run(self: Page, script: str) -> bool:
        answer = answers.pop(0)
        if isinstance(answer, BrowserError):
            raise answer
        return answer

    monkeypatch.setattr(Page, "run", run)
    page = Page.__new__(Page)
    page.wait("true")
    assert len(answers) == 1
    with pytest.raises(BrowserError):
        page.wait("true")
