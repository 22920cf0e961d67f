"""The site of the documentation: every link leads somewhere, and no page asks another host for anything."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

from docs import build
from tests.support.places import DOCS
from tests.support.sweeps import proof

PARTS = ["Start", "Use", "Keep and erase", "PostgreSQL", "Trust", "Build on it"]


class References(HTMLParser):
    """What a page refers to: links, what it loads by itself, and the ids that others may refer to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses of an element."""
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(found["href"])
        self.loaded += [found[name] for name in ("src", "srcset") if name in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The built site."""
    if find_spec("zensical") is None:
        pytest.skip("zensical is not installed (the extra `site`)")
    directory = tmp_path_factory.mktemp("site")
    assert build.main([str(directory)]) == 0
    yield directory
    shutil.rmtree(directory)


def test_the_navigation_is_that_of_the_first_page(tmp_path: Path) -> None:
    """Its parts, with every page; a page that the generator gets links to files beside it."""
    found = build.navigation((DOCS / "index.md").read_text(encoding="utf-8"))
    assert list(found) == PARTS
    build.write_source(tmp_path / "source")
    for path in (tmp_path / "source" / "pages").glob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            assert "://" in target or (path.parent / target).is_file(), (path.name, target)


@proof
def test_every_link_leads_somewhere(site: Path) -> None:
    """To a page or file of the site, and to a heading that is there."""
    pages = {path: References(path.read_text(encoding="utf-8")) for path in site.glob("*.html")}
    assert len(pages) > len(list(DOCS.glob("*.md")))
    broken = []
    for page, found in pages.items():
        for link in [*found.links, *found.loaded]:
            name, _, heading = unquote(link).partition("#")
            target = page if name in ("", ".") else (page.parent / name.lstrip("/")).resolve()
            if "://" in link or link.startswith(("mailto:", "data:")):
                continue
            if not target.exists() or (heading and target in pages and heading not in pages[target].ids):
                broken.append((page.name, link))
    assert broken == []


@proof
def test_no_page_asks_another_host(site: Path) -> None:
    """Neither pages nor styles load fonts, scripts or pictures from elsewhere."""
    for page in site.glob("*.html"):
        loaded = References(page.read_text(encoding="utf-8")).loaded
        assert not [one for one in loaded if "//" in one], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


@proof
def test_it_can_be_searched(site: Path) -> None:
    """The index has the text of each part."""
    index = json.dumps(json.loads((site / "search.json").read_text(encoding="utf-8")))
    for page in ("cli.html", "durability.html", "host.html"):
        assert page in index
