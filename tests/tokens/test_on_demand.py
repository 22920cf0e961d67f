"""Counters that are loaded when they first count."""

from __future__ import annotations

import subprocess
import sys

import pytest

from amplifier_module_context_persistent.tokens.counter import open_counter
from amplifier_module_context_persistent.tokens.on_demand import named_counter
from tests.support.texts import CHINESE, PROSE, PYTHON


@pytest.mark.parametrize("tokenizer", ["auto", "estimate", "o200k_base"])
def test_it_counts_as_the_counter_of_its_name(tokenizer: str) -> None:
    """Its name and its counts are those of the counter that is opened at once."""
    on_demand = named_counter(tokenizer)
    counter = open_counter(tokenizer)
    assert on_demand.name == counter.name
    for text in ("", CHINESE, PROSE, PYTHON):
        assert on_demand.count_text(text) == counter.count_text(text)


def test_an_unknown_name_is_refused_at_once() -> None:
    """A wrong name is an error of the call, not of the first count."""
    with pytest.raises(ValueError, match="'words' is not known"):
        named_counter("words")


def test_statistics_that_are_known_do_not_load_the_estimate() -> None:
    """The command `stats` imports the networks of the estimate only to count."""
    code = (
        "import sys; from amplifier_module_context_persistent.toolbox.cli import stats; stats.named_counter('auto');"
        " print([name for name in sys.modules if name.endswith('tokens.estimate')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
