"""Build the documentation as a site: the README, the pages of `docs/`, CONTRIBUTING and CHANGELOG.

    python -m docs.build [DIRECTORY]     # by default site/; needs the extra `site`

The parts and titles of the navigation are those of `docs/index.md`. The site asks no other host for anything.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SHOWN = (".md", ".svg", ".png")
LIST_OF_PAGES = "pages.md"
"""The site's name of `docs/index.md`: its first page is the README."""

SETTINGS = """
[project]
site_name = "context-persistent"
site_description = {description}
copyright = "MIT licence"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = [
{navigation}
]

[project.theme]
font = false
language = "en"
features = [
  "content.code.copy", "navigation.footer", "navigation.sections",
  "navigation.tabs", "navigation.top", "search.highlight",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"

[project.markdown_extensions]
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight = {{}}
pymdownx.superfences = {{}}
"""


def navigation(index: str) -> dict[str, list[tuple[str, str]]]:
    """The titles and files of each part, in the order of `docs/index.md`."""
    parts: dict[str, list[tuple[str, str]]] = {}
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        parts[title] = [
            (name, target.removeprefix("../"))
            for name, target in re.findall(r"^\| \[([^]]+)\]\(([\w./]+)\) \|", body, re.MULTILINE)
        ]
    return parts


def for_site(text: str, titles: Mapping[str, str]) -> str:
    """A page with links as the site has them: all pages lie in one directory, and none is called by its file's name."""
    text = re.sub(r"\[(?:docs/)?(\w+\.md)\](?=\()", lambda found: f"[{titles.get(found[1], found[1])}]", text)
    text = re.sub(r'(\]\(|src="|srcset=")docs/', r"\1", text)
    text = text.replace("](index.md)", f"]({LIST_OF_PAGES})").replace("](../README.md)", "](index.md)")
    return re.sub(r"\]\(\.\./(CONTRIBUTING|CHANGELOG)\.md", r"](\1.md", text).replace("](examples/", "](")


def write_source(directory: Path) -> None:
    """Write the pages and the generator's settings."""
    pages = directory / "pages"
    pages.mkdir(parents=True)
    parts = navigation((DOCS / "index.md").read_text(encoding="utf-8"))
    titles = {name: title for found in parts.values() for title, name in found}
    sources = {path.name: path for path in DOCS.iterdir() if path.suffix in SHOWN}
    sources[LIST_OF_PAGES] = sources.pop("index.md")
    sources |= {"index.md": ROOT / "README.md"}
    sources |= {name: ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    sources |= {path.name: path for path in (ROOT / "examples").glob("*.py")}
    for name, path in sources.items():
        if path.suffix == ".md":
            (pages / name).write_text(for_site(path.read_text(encoding="utf-8"), titles), encoding="utf-8")
        else:
            shutil.copy(path, pages / name)
    lines = ['  { "Home" = [{ "What it is" = "index.md" }, { "All pages" = "pages.md" }] },']
    for part, found in parts.items():
        entries = ", ".join(f'{{ "{title}" = "{target}" }}' for title, target in found)
        lines.append(f'  {{ "{part}" = [{entries}] }},')
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    settings = SETTINGS.format(description=f'"{project["description"]}"', navigation="\n".join(lines))
    (directory / "zensical.toml").write_text(settings, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site; the exit code is the generator's."""
    parser = argparse.ArgumentParser(prog="python -m docs.build", description=__doc__.partition("\n")[0])
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "site", help="replaced if it is there")
    target = parser.parse_args(arguments).directory
    with tempfile.TemporaryDirectory() as scratch:
        write_source(Path(scratch))
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=scratch, check=False)
        if done.returncode == 0:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(Path(scratch, "site"), target)
            print(f"open {target / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
