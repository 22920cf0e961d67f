"""Rows: no kept line of a result stands without the values that belong to it."""

import json

import pytest

from amplifier_module_context_persistent.compaction.whole_rows import with_whole_rows
from amplifier_module_context_persistent.messages.elide import LEAST_SHOWN_CHARS, elide_message, excerpt_cut

HOSTS = [{"host": f"web-{n}", "status": "up" if n % 3 else "down", "ticket": f"OPS-{7919 * n}"} for n in range(90)]
BLOCKS = "\n\n".join(f"name: web-{n}\nstatus: {'up' if n % 3 else 'down'}\nticket: OPS-{7919 * n}" for n in range(90))
ENTRIES = "\n".join(f"- name: web-{n}\n  status: {n}\n  ticket: OPS-{7919 * n}" for n in range(90))
TABLE = "\n".join(f"| web-{n} | {'up' if n % 3 else 'down'} | OPS-{7919 * n} |" for n in range(90))


def shown(text: str, *names: str, keep_chars: int = 0) -> str:
    message = {"role": "tool", "tool_call_id": "c1", "content": text}
    lines = tuple(sorted((0, text.index(name), text.index(name) + len(name)) for name in names))
    cut = with_whole_rows(message, excerpt_cut(keep_chars, lines))
    return str(elide_message(message, cut, reference="m1")["content"])


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(HOSTS, indent=2),
        json.dumps({"items": HOSTS}, indent=1),
        json.dumps(HOSTS),
        "\n".join(f"{n + 1:6d}\t{line}" for n, line in enumerate(json.dumps(HOSTS, indent=2).split("\n"))),
        BLOCKS,
        ENTRIES,
        TABLE,
    ],
    ids=["json", "json in an object", "json in one line", "numbered json", "blocks", "entries", "table"],
)
def test_a_kept_name_brings_its_values(text: str) -> None:
    """Whatever the form, and nothing of others that are far away."""
    view = shown(text, '"web-41"' if "{" in text else "web-41", f"OPS-{7919 * 70}")
    for number in (41, 70):
        assert f"web-{number}" in view
        assert f"OPS-{7919 * number}" in view
    assert "web-55" not in view


def test_head_and_tail_end_between_records() -> None:
    """So nobody pairs the beginning of one with the end of another."""
    view = shown(json.dumps(HOSTS, indent=2), keep_chars=500)
    assert view.count('"host"') == view.count('"ticket"') == view.count('"status"')


def test_a_record_that_is_too_long_leaves_its_line_between_marks() -> None:
    """They say that something is missing there."""
    big = json.dumps(
        [{"host": f"web-{n}", **{f"key_{k}": "a value of it" for k in range(60)}} for n in range(9)], indent=2
    )
    lines = shown(big, '"web-4"', '"web-7"').split("\n")
    at = next(at for at, line in enumerate(lines) if "web-4" in line)
    assert lines[at - 1].startswith(("⋮", "[…"))
    assert "⋮" in "".join(lines[at:])


def test_a_cut_to_lines_shows_at_least_the_least() -> None:
    """At the end of a text as well as at its beginning."""
    text = "\n".join(f"row {n}" for n in range(400))
    for name in ("row 0", "row 200", "row 399"):
        assert (
            sum(len(line) for line in shown(text, name).split("\n") if line.startswith("row"))
            >= LEAST_SHOWN_CHARS * 0.8
        )
