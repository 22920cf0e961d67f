"""Redaction: every sample is made up in the form of the real ones; what is no secret stays as it is."""

import json
from typing import Any

import pytest
from amplifier_core.utils import SENSITIVE_KEYS as CORES_KEYS
from amplifier_core.utils import redact_secrets
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.secrets import REDACTED, SENSITIVE_KEYS, redact_text, redact_value
from tests.support.secret_samples import LETTERS, SAMPLES


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize(
    "around", ["{}", "key={} ", 'said "{}".', "(`{}`)", "é{}", "x\\n{}", "https://x.example/?k={}&b=1"]
)
def test_tokens_of_known_formats_are_replaced_in_text(name: str, around: str) -> None:
    """Whatever stands around them; what stands around stays."""
    secret = SAMPLES[name]
    text = redact_text(around.format(secret))
    assert REDACTED in text
    assert secret not in text
    assert not any(piece in text for piece in (secret[8:], secret[:-8], LETTERS[:12]) if len(piece) > 8)
    before, after = around.split("{}")
    assert text.startswith(before)
    if not name.startswith("open"):
        assert text.endswith(after)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AWS_SECRET_ACCESS_KEY=" + LETTERS, "AWS_SECRET_ACCESS_KEY=" + REDACTED),
        ("password: '" + LETTERS[:16] + "'", "password: '" + REDACTED + "'"),
        ('{"api_key": "' + LETTERS + '"}', '{"api_key": "' + REDACTED + '"}'),
        ("Authorization: Bearer " + LETTERS, "Authorization: Bearer " + REDACTED),
        ("https://hooks.slack.com/services/T0AB/B0CD/" + LETTERS[:24], "https://hooks.slack.com/services/" + REDACTED),
    ],
)
def test_secrets_without_a_form_are_found_beside_their_names(text: str, expected: str) -> None:
    """The name stays, the value goes."""
    assert redact_text(text) == expected


@pytest.mark.parametrize(
    "secret",
    [
        *(prefix + "QYLPMN5HFIQR7XYA" for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
        *(f"gh{kind}_{LETTERS[:36]}" for kind in "oprsu"),
        "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nlQ",
        "xoxe.xoxp-" + LETTERS[:20],
    ],
)
def test_every_beginning_is_known_alone(secret: str) -> None:
    """Nothing else in the text has to hint at it."""
    assert redact_text(secret) == REDACTED


@pytest.mark.parametrize("name", ["api_key", "APIKEY", "api-key", "access_key", "private-key", "secret", "password"])
@pytest.mark.parametrize("letters", ["{}", "x-{}"])
def test_every_name_is_known_alone(name: str, letters: str) -> None:
    """In any case."""
    assert redact_text(f"{letters.format(name)}={LETTERS[:20]}") == f"{letters.format(name)}={REDACTED}"


@pytest.mark.parametrize(
    "name", ["passwd", "Token", "credential", "credentials", "auth", "TO\u212aEN", "pa\u017fsword"]
)
def test_letters_that_fold_to_those_of_a_name_count(name: str) -> None:
    """As the pattern has it: the Kelvin sign is a K, the long s is an s."""
    assert redact_text(f"{name}={LETTERS[:20]}") == f"{name}={REDACTED}"


@pytest.mark.parametrize(
    "text",
    [
        "the token count is 123456",
        "password: str",
        "def get_token(self): return self.tokens",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id toolu_01A09q90qw90lq917835lq9",
        "task-ask-sk-short",
        "a risk-averse-and-otherwise-long-hyphenated-word",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "eyJust a word.",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Hashes, ids, code and prose."""
    assert redact_text(text) == text


def test_the_sensitive_keys_are_those_of_the_core() -> None:
    """A key that the core adds is missed here."""
    assert SENSITIVE_KEYS == CORES_KEYS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["token", "Password", "a", "b"]) | st.text(), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_values_are_redacted_as_the_core_does_it(value: Any) -> None:
    """What the core redacts is redacted, and nothing else where no text looks like a secret; twice is as once."""
    redacted = redact_value(value)
    assert redacted == redact_secrets(value)
    assert redact_value(redacted) == redacted


def test_a_message_keeps_its_shape() -> None:
    """Blocks, nested arguments and arguments that are JSON text are gone through; ids and numbers stay."""
    secret = SAMPLES["GitHub"]
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": f"use {secret} now"}],
        "tool_calls": [
            {"id": "call_1", "arguments": {"cmd": ["export", f"T={secret}"], "password": "x", "n": 2**70}},
            {"id": "call_2", "function": {"name": "f", "arguments": json.dumps({"token": "y", "k": [1, secret]})}},
        ],
        "metadata": {secret: 1},
    }
    redacted = redact_value(message)
    assert secret not in json.dumps(redacted)
    assert redacted["content"][0]["text"] == f"use {REDACTED} now"
    first, second = redacted["tool_calls"]
    assert first == {
        "id": "call_1",
        "arguments": {"cmd": ["export", f"T={REDACTED}"], "password": REDACTED, "n": 2**70},
    }
    assert json.loads(second["function"]["arguments"]) == {"token": REDACTED, "k": [1, REDACTED]}
    assert secret in json.dumps(message)


@pytest.mark.parametrize(
    "text", ["-----BEGIN PRIVATE KEY-----" * 2000, "eyJ" + "a" * 100_000, "token=" * 20_000, "a_" * 50_000]
)
def test_a_text_that_was_made_to_be_slow_is_not(text: str) -> None:
    """The time is bounded whatever the text."""
    import time

    begin = time.monotonic()
    redact_text(text)
    assert time.monotonic() - begin < 2
