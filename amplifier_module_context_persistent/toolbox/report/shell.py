"""The page's shell: template, styles and script in one HTML head, with a policy that lets nothing else run or load.

The policy names the styles and the script by their hashes; it forbids everything else, so that even markup that slipped
through could neither run nor ask for anything. Data follow the shell in blocks (`blocks`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

SCRIPTS = (
    "base.js",
    "load.js",
    "markdown.js",
    "code.js",
    "units.js",
    "parts.js",
    "list.js",
    "timeline.js",
    "seen.js",
    "contents.js",
    "find.js",
    "printing.js",
    "copying.js",
    "dialogs.js",
    "keys.js",
    "main.js",
)
"""The script's files, in the order in which they stand in the page."""

STYLES = ("base.css", "head.css", "panels.css", "list.css", "parts.css", "dialogs.css", "narrow.css", "print.css")

_PAGE = "page"


def shell(**fields: Any) -> bytes:
    """Make the page up to its data; `fields` are what the template shows, escaped."""
    script, styles = script_text(), styles_text()
    policy = (
        f"default-src 'none'; script-src '{policy_hash(script)}'; style-src '{policy_hash(styles)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return rendered("report.html", policy=policy, script=Markup(script), styles=Markup(styles), **fields)  # noqa: S704 - ours


def rendered(name: str, **fields: Any) -> bytes:
    """Fill in a template of `page/`; fields that are not `Markup` are escaped."""
    return _TEMPLATES.get_template(name).render(fields).encode("utf-8")


def data_blocks(head: bytes, bodies: Iterable[bytes]) -> Iterator[bytes]:
    """The page after its shell: the blocks of data, each in an element that browsers neither show nor run."""
    for block in chain([head], bodies):
        yield b'<script type="text/plain" class="block">' + block + b"</script>\n"
    yield b"</body>\n</html>\n"


def moment(time_ms: int) -> str:
    """A time as the head says it, in UTC; empty where it is not known, or lies outside of the calendar."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") if time_ms else ""
    except (ValueError, OverflowError, OSError):
        return ""


def dollars(cost: float, *, is_estimated: bool = False) -> str:
    """A cost as a page shows it, with a tilde if it is an estimate; nothing where there is none."""
    if cost <= 0:
        return ""
    return "~" * is_estimated + (f"${cost:.4f}" if cost < 0.095 else f"${cost:,.2f}")


@cache
def script_text() -> str:
    """The script, as it stands in the page."""
    parts = "\n".join(f"// ---- {name}\n\n{page_text(name)}" for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def styles_text() -> str:
    """The styles, as they stand in the page."""
    return "\n".join(page_text(name) for name in STYLES)


def page_text(name: str) -> str:
    """A file of `page/`, as it stands."""
    return (files(__package__) / _PAGE / name).read_text(encoding="utf-8")


def policy_hash(text: str) -> str:
    """A script or a sheet as a policy names it."""
    return "sha256-" + base64.b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


_TEMPLATES = Environment(
    loader=FunctionLoader(page_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
"""The templates of `page/`; each is compiled once."""
