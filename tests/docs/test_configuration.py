"""The configuration's documentation lists every key as the code has it.

`python -m tests.docs.test_configuration` writes the tables anew.
"""

from __future__ import annotations

from dataclasses import fields

from amplifier_module_context_persistent.config import GROUPS, Config
from amplifier_module_context_persistent.config.foreign_keys import (
    ALIASES,
    ELSEWHERE,
    FALLBACK_BUDGET,
    VALUE_ALIASES,
    WITHOUT_MEANING,
)
from tests.support.places import ROOT

PAGE = ROOT / "docs" / "configuration.md"
TITLES = ["| key | default | meaning | allowed |", "| --- | --- | --- | --- |"]


def option_row(name: str) -> str:
    option = Config.options()[name]
    value = option.default_factory() if callable(option.default_factory) else option.default
    shown = str(value).lower() if isinstance(value, bool) else value
    default = "none" if value in (None, ()) else f"`{shown}`"
    return f"| `{name}` | {default} | {option.metadata['meaning']} | {option.metadata['allowed']} |"


def sections() -> dict[str, list[str]]:
    """The rows of each group, as the code has them."""
    return {title: [option_row(key.name) for key in fields(group)] for title, group in GROUPS.items()}


def test_the_configuration_table_is_the_code():
    """Every option stands in its group's table with its default, meaning and allowed values, and nothing else does."""
    page = PAGE.read_text(encoding="utf-8")
    tables = {}
    for section in page.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        rows = [line for line in text.splitlines() if line.startswith("|")]
        if rows[:2] == TITLES:
            tables[title] = rows[2:]
    assert tables == sections()
    assert list(tables) == list(GROUPS)


def test_keys_of_other_modules_are_named() -> None:
    """With those that mean nothing here."""
    section = (ROOT / "docs" / "other_modules.md").read_text(encoding="utf-8").partition("## Its options\n")[2]
    names = [*ALIASES, *WITHOUT_MEANING, *ELSEWHERE, *VALUE_ALIASES, FALLBACK_BUDGET]
    names += [value for values in VALUE_ALIASES.values() for value in values]
    assert [name for name in names if f"`{name}" not in section and f"`{name}`" not in section] == []


def main() -> None:
    """Write the tables into the page, and leave what stands around them."""
    page = PAGE.read_text(encoding="utf-8")
    for title, rows in sections().items():
        heading = f"\n## {title}\n"
        assert heading in page, f"the page has no heading {heading.strip()!r}"
        before, _, after = page.partition(heading)
        kept = after.lstrip()
        while kept.startswith("|"):
            kept = kept.partition("\n")[2]
        page = f"{before}{heading}\n" + "\n".join([*TITLES, *rows]) + f"\n\n{kept.lstrip()}"
    PAGE.write_text(page.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
