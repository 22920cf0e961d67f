"""What docs/compaction_reference.md and docs/summaries.md quote.

`python -m tests.docs.test_compaction` writes it anew.
"""

import re

from amplifier_module_context_persistent.compaction.always_kept import PROMISES
from amplifier_module_context_persistent.window.summary_request import PROMPT
from tests.support.places import DOCS

PAGE, SUMMARIES = DOCS / "compaction_reference.md", DOCS / "summaries.md"
QUOTED = re.compile(r"(<!-- prompt -->\n).*(<!-- /prompt -->)", re.DOTALL)

TABLE = re.compile(r"(<!-- promises -->\n).*(<!-- /promises -->)", re.DOTALL)


def with_prompt(page: str) -> str:
    quoted = "\n".join(f"> {line}".rstrip() for line in PROMPT.splitlines())
    return QUOTED.sub(lambda found: f"{found[1]}\n{quoted}\n\n{found[2]}", page)


def with_promises(page: str) -> str:
    rows = "\n".join(f"| {promise.name} | {promise.says} |" for promise in PROMISES)
    table = f"| promise | what a view keeps |\n| --- | --- |\n{rows}"
    return TABLE.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", page)


def test_the_promises_are_those_that_are_kept() -> None:
    """The page has the table of promises, sentence for sentence."""
    page = PAGE.read_text(encoding="utf-8")
    assert TABLE.search(page)
    assert with_promises(page) == page


def test_the_prompt_is_the_one_that_is_sent() -> None:
    """The page shows the built-in `summary_prompt` word for word."""
    page = SUMMARIES.read_text(encoding="utf-8")
    assert QUOTED.search(page)
    assert with_prompt(page) == page


if __name__ == "__main__":
    PAGE.write_text(with_promises(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    SUMMARIES.write_text(with_prompt(SUMMARIES.read_text(encoding="utf-8")), encoding="utf-8")
