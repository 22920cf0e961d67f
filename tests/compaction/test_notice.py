"""The notice: what the model is told of what it does not see."""

from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.notice import Gone, notice_text
from amplifier_module_context_persistent.config import Config

GONE = Gone(dropped=1_234, cut=2, gaps=3, changed=["src/a.py"], read=["b.py"], in_vain=["make x"])


def count(message: dict[str, Any]) -> int:
    return len(message["content"]) // 4


def notice(budget_tokens: int = 100_000, gone: Gone = GONE, step: int = 3, **config: Any) -> str:
    return notice_text(Config.load(config), step, gone, budget_tokens, count)


def test_it_says_how_much_is_gone_and_how_to_get_it_back() -> None:
    """As a system reminder, with the files and commands in what was left out."""
    text = notice()
    assert text.startswith("<system-reminder>\n1,234 earlier messages are left out")
    assert text.endswith("</system-reminder>")
    assert "2 long texts are shortened" in text
    assert "recall" in text
    assert "in 3 places" in text
    assert "Files changed in them: src/a.py. Files read in them: b.py." in text
    assert "Commands that failed in them: make x." in text
    assert "1 earlier message is left out" in notice(gone=Gone(1, 0, 1))


def test_without_recall_it_names_no_tool() -> None:
    """Nobody is sent to what is not there."""
    text = notice(recall=False)
    assert "recall" not in text
    assert "session's log" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"compaction_notice_enabled": False}, False),
        ({"compaction_notice_min_level": 4}, False),
        ({"compaction_notice_min_level": 3}, True),
        ({"gone": Gone(0, 5, 0)}, False),
    ],
)
def test_where_it_says_nothing(words: dict[str, Any], expected: bool) -> None:
    """Turned off, at a lower step than wanted, or where nothing was left out."""
    assert bool(notice(**words)) is expected


def test_it_is_as_long_as_configured_or_as_the_budget_allows() -> None:
    """A small budget gets the shortest one, a smaller one none."""
    lengths = [len(notice(compaction_notice_verbosity=one)) for one in ("minimal", "normal", "verbose")]
    assert lengths == sorted(set(lengths))
    assert "step 3 to fit 100,000 tokens" in notice(compaction_notice_verbosity="verbose")
    short = notice(2_000)
    assert short
    assert "recall" not in short
    assert notice(200) == ""
    assert notice(compaction_notice_token_reserve=0) == ""
