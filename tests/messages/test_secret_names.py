"""Which names are those of secrets, and which values are none."""

import pytest

from amplifier_module_context_persistent.messages.secret_names import Likelihood, likelihood_of


@pytest.mark.parametrize(
    "name", ["api_key", "clientSecret", "DB_PASSWORD_2", "refresh-token", "SECRET_KEY_BASE", "client-key-data"]
)
def test_names_are_read_as_words(name: str) -> None:
    """In any way to write them, and after words that say which of several it is."""
    assert likelihood_of(name) is Likelihood.STRONG


@pytest.mark.parametrize(
    "name", ["token_count", "max_tokens", "pad_token", "password_file", "secretary", "author", "key", "passage"]
)
def test_other_names_are_not_sensitive(name: str) -> None:
    """Where the word only stands within another, or another thing is named."""
    assert likelihood_of(name) is not Likelihood.STRONG
