"""Make the page's shell: template, styles and script in one HTML head, with a policy that allows nothing else.

The policy names the styles and the script by their hashes and forbids everything else. So even markup that was not
escaped could neither run nor load anything. The data follow the shell in blocks (`history.BodyBlocks`).
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
"""The script's files, in their order in the page."""

STYLES = ("base.css", "head.css", "panels.css", "list.css", "parts.css", "dialogs.css", "narrow.css", "print.css")

_PAGE = "page"


def shell(**fields: Any) -> bytes:
    """Return the page up to its data; the template shows `fields`, escaped."""
    script, styles = script_text(), styles_text()
    policy = (
        f"default-src 'none'; script-src '{policy_hash(script)}'; style-src '{policy_hash(styles)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return rendered("report.html", policy=policy, script=Markup(script), styles=Markup(styles), **fields)  # noqa: S704 - ours


def rendered(name: str, **fields: Any) -> bytes:
    """Fill in a template of `page/`, and return its bytes; fields that are not `Markup` are escaped."""
    return _TEMPLATES.get_template(name).render(fields).encode("utf-8")


def data_blocks(head: bytes, bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the page after its shell: blocks of data in elements that browsers neither show nor run."""
    for block in chain([head], bodies):
        yield b'<script type="text/plain" class="block">' + block + b"</script>\n"
    yield b"</body>\n</html>\n"


def moment(time_ms: int) -> str:
    """Return a time in UTC as text; "" if the time is unknown or not a valid date."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") if time_ms else ""
    except (ValueError, OverflowError, OSError):
        return ""


def dollars(cost: float, *, is_estimated: bool = False) -> str:
    """Return a cost as text, with a tilde if the cost is an estimate; "" if there is no cost."""
    if cost <= 0:
        return ""
    return "~" * is_estimated + (f"${cost:.4f}" if cost < 0.095 else f"${cost:,.2f}")


@cache
def script_text() -> str:
    """Return the page's script."""
    parts = "\n".join(f"// ---- {name}\n\n{page_text(name)}" for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def styles_text() -> str:
    """Return the page's styles."""
    return "\n".join(page_text(name) for name in STYLES)


def page_text(name: str) -> str:
    """Return the text of a file in `page/`."""
    return (files(__package__) / _PAGE / name).read_text(encoding="utf-8")


def policy_hash(text: str) -> str:
    """Return the hash of a script or a style sheet, in the form of a content security policy."""
    return "sha256-" + base64.b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


_TEMPLATES = Environment(
    loader=FunctionLoader(page_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
"""The templates of `page/`; each is compiled once."""
