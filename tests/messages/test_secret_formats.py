"""Secrets that are known by their published form."""

import re

import pytest

from amplifier_module_context_persistent.messages.secret_formats import FORMATS
from amplifier_module_context_persistent.messages.secrets import redact_text
from tests.support.secret_forms import TOKENS, sample


@pytest.mark.parametrize("form", TOKENS)
def test_every_published_form_is_known_by_itself(form: str) -> None:
    """In prose, quoted, in JSON within JSON: all that is random in it goes."""
    for seed in range(3):
        secret = sample(form, seed)
        runs = [run for run in re.findall(r"[A-Za-z0-9]{8,}", secret) if re.search(r"[0-9]", run)]
        for around in ("use {} now", '"{}"', "x = '{}'", 'say \\"{}\\"', "({}),"):
            text = redact_text(around.format(secret))
            left = [run for run in runs if run in text]
            assert left in ([], ["eyJhbGciOiJIUzI1NiJ9"]), (text, left)


def test_every_format_says_where_it_is_documented_and_has_its_samples() -> None:
    """A row of the table that no sample matches is a row that nobody tried."""
    samples = [sample(form, seed) for form in TOKENS for seed in range(3)]
    tried = [known for known in FORMATS if any(known.expression.search(text) for text in samples)]
    assert [known.kind for known in FORMATS if not known.source or not known.hints] == []
    assert len(tried) >= 0.8 * len(FORMATS)
    for known in FORMATS:
        matching = [text for text in samples if known.expression.search(text)]
        assert [text for text in matching if not any(hint in text for hint in known.hints)] == []
