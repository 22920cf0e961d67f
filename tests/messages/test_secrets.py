"""Redaction: every sample is made up in the form of the real ones; what is no secret stays as it is."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.utils import redact_secrets
from hypothesis import given
from hypothesis import strategies as st

import amplifier_module_context_persistent
from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.messages.secrets.names import Likelihood, likelihood_of
from amplifier_module_context_persistent.messages.secrets.redact import redact_text, redact_value
from tests.support.growth import assert_grows_with_the_text
from tests.support.secret_forms import LETTERS, LINES, SAMPLES, line_with_secrets, sample
from tests.support.sweeps import proof, whole

PACKAGE = Path(amplifier_module_context_persistent.__file__).parent


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


SIGNS = st.text(st.characters(exclude_categories=["L", "N"]))
"""Texts that name no secret and are none. Other texts may be: Hypothesis also draws constants of our own modules."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | SIGNS,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["token", "Password", "a", "b"]) | SIGNS, inner),
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


def test_what_is_replaced_is_reported_by_kind_and_field() -> None:
    """Never by value, and a key that is no plain name is not shown."""
    places: list[tuple[str, str]] = []
    message = {
        "content": [{"type": "text", "text": f"{SAMPLES['GitHub']} and DB_PASSWORD={LETTERS[:9]}"}],
        "tool_calls": [{"function": {"arguments": json.dumps({"token": "y", "client_secret": "abc", "n": 1})}}],
        "metadata": {SAMPLES["GitHub"]: f"https://me:{LETTERS[:7]}@x.example"},
    }
    redacted = redact_value(message, lambda kind, field: places.append((kind, field)))
    assert sorted(places) == [
        ("GitHub token", "content[0].text"),
        ("GitHub token", "metadata.*"),
        ("password by its name", "content[0].text"),
        ("password in a URL", "metadata.*"),
        ("value of a sensitive key", "tool_calls[0].function.arguments.client_secret"),
        ("value of a sensitive key", "tool_calls[0].function.arguments.token"),
    ]
    assert LETTERS[:7] not in json.dumps([redacted, places])


@pytest.mark.parametrize(
    "key", ["client_secret", "accessToken", "db_password", "API-KEY", "smtpPass", "aws_secret_access_key"]
)
@pytest.mark.parametrize("value", ["a", "s3", "hunter2 ", "x" * 8 + "7"])
def test_a_text_under_a_sensitive_key_goes_whatever_its_length(key: str, value: str) -> None:
    """Only what stands for a value, as a row of x does, stays."""
    expected = value if set(value.strip()) == {"x"} else REDACTED
    assert redact_value({"a": [{key: value}]}) == {"a": [{key: expected}]}


@proof
def test_the_sources_of_this_package_hold_no_secrets() -> None:
    """At most one line in a thousand of source code is taken for one; the table of forms is left out."""
    lines = changed = 0
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if path.name != "formats.py"]
    for path in paths[:: 1 if whole() else 3]:
        text = path.read_text("utf-8")
        lines += text.count("\n")
        changed += sum(old != new for old, new in zip(text.split("\n"), redact_text(text).split("\n"), strict=True))
    assert changed * 1_000 <= lines


@given(
    st.lists(
        st.sampled_from([*"ab9K_-=:'\"\\ \n{}<>$/.@;,(&", "password", "API_KEY", "token", "://", "curl -u ", "k3y9"]),
        max_size=40,
    ).map("".join)
)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """What was put in the place of a secret is none."""
    once = redact_text(text)
    assert redact_text(once) == once


@proof(quick=1)
@pytest.mark.parametrize(
    "text",
    [
        *("-----BEGIN PRIVATE KEY-----" * 1000, "eyJ" + "a" * 50_000, "token=" * 10_000, "a_" * 25_000),
        *(
            "password: " * 5_000,
            "://a:" * 10_000,
            "curl -u " * 5_000,
            "host=a " * 5_000,
            "a;" * 20_000 + "password=",
        ),
        *(
            "cookie: " + "a=b;" * 10_000,
            "sk-" * 15_000,
            "M" * 50_000,
            "-eyJaaaaaaaa" * 8_000,
            "mysql -u " * 9_000,
            "password:" * 9_000,
            '\\"' * 25_000,
            "A" * 50_000 + "Q~",
            "login a " * 5_000,
        ),
        *(
            "password login" + " " * 25_000 + "x",
            "password login x" + " " * 25_000 + "y",
            "password login" + "\\n" * 25_000,
        ),
        *(
            "password=" * 5_000,
            "password=x " + "host=" * 10_000,
            "pwd=" + "a " * 25_000,
            f'password="{"a" * 4_000}" ' * 20,
            "git config set " + "token" * 10_000,
        ),
    ],
)
def test_a_text_that_was_made_to_be_slow_is_not(text: str) -> None:
    """The time grows with the text, not with its square."""
    assert_grows_with_the_text(redact_text, text)


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


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("redis://:s3@host", "password in a URL", "redis://:*@host"),
        ("Authorization: Bearer abcdefgh12", "credentials in a header", "Authorization: Bearer *"),
        ("Cookie: a=b12345; theme=d", "cookie", "Cookie: a=*; theme=d"),
        ("curl -u me:s3 https://x", "password of a command", "curl -u me:* https://x"),
        ("machine h login me password s3", "password of a file", "machine h login me password *"),
        ("auth=('me', 's3')", "password of a call", "auth=('me', '*')"),
        ("Server=x;Pwd=s3;", "password of a connection string", "Server=x;Pwd=*;"),
        ("IDENTIFIED BY 's3'", "password of a command", "IDENTIFIED BY '*'"),
        ("?sig=" + "a1" * 20, "signature of a request", "?sig=*"),
    ],
)
def test_the_secret_goes_and_what_stands_around_it_stays(text: str, kind: str, expected: str) -> None:
    """And its kind is told."""
    kinds: list[str] = []
    assert redact_text(text, kinds.append) == expected.replace("*", REDACTED)
    assert kinds == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "https://user:${PASSWORD}@host",
        "curl -u $USER:$PASS x",
        "Cookie: none",
        "http://host:80/a@b",
        "login(user, password)",
    ],
)
def test_variables_and_other_places_stay(text: str) -> None:
    """Nothing is told of them."""
    kinds: list[str] = []
    assert redact_text(text, kinds.append) == text
    assert kinds == []


@pytest.mark.parametrize(
    "form",
    [
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA{{u16}}%2F20261101%2Feu&X-Amz-Security-Token={{a90}}&X-Amz-Signature={{h64}}",
        "https://storage.googleapis.com/b/o?X-Goog-Algorithm=x&X-Goog-Signature={{h128}}",
        "https://a.blob.core.windows.net/c?sv=2024-11-04&sig={{s42}}%3D",
        "https://d111.cloudfront.net/x?Expires=1&Signature={{b90}}&Key-Pair-Id=K1",
        "AKIA{{u16}},{{s40}}",
        "AKIA{{u16}}: {{s40}}",
        "aws configure: ASIA{{u16}} {{s40}} eu-west-1",
        "https://discord.com/api/webhooks/{{d18}}/{{b68}}",
        "https://chat.example.com/hooks/{{l26}}",
        "https://hooks.zapier.com/hooks/catch/1234/{{a24}}/",
        "https://maker.ifttt.com/trigger/done/with/key/{{b22}}",
        "https://hook.eu2.make.com/{{l32}}",
        "http://proxy.user:{{a9}}@proxy.example.com:3128",
        "https://api.openweathermap.org/data/2.5/weather?q=x&appid={{h32}}",
        "https://api.example.com/v1/list?key={{a39}}&page=2",
        "X-Honeycomb-Team: {{h32}}",
    ],
)
def test_all_of_it_that_opens_something_goes(form: str) -> None:
    """Of a presigned address its id, token and signature, of a pair both, of a webhook the whole path."""
    for seed in range(4):
        line, secrets = line_with_secrets(form, 11 * seed)
        text = redact_text(line)
        assert [secret for secret in secrets if secret in text] == [], text


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/acme/app/settings/hooks/123456789",
        "POST /api/webhooks/github-push-events",
        "https://docs.example.com/guides/webhooks/receiving-events-and-retrying-them",
        "import { useHooks } from './hooks/useSessionStorageWithDefaults'",
        "AKIA0000111122223333 is no key id",
        "GET /objects?key=uploads/2026/11/22/report-final-version-2.pdf",
        "GET /cache?key=3f786850e387550fdab836ed7e6dc881de23001b",
    ],
)
def test_addresses_without_a_secret_stay(text: str) -> None:
    """A path of words, and a number."""
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "token = Base.url_encode64(:crypto.strong_rand_bytes(32))",
        "auth = authenticate_user_v2(request)",
        "password=password1_from_env,",
        "pip install sk-something-long-and-more-words",
        "secret: 123e4567-e89b-12d3-a456-426614174000",
        "api_key=settings.API_KEY_2",
        "token: ${{ secrets.GITHUB_TOKEN_2 }}",
        "password = os.environ['DB_PASSWORD2']",
        "secret = config['secret1']",
        "api_key = f'{prefix}-{number}'",
        "SECRET_FILE=/run/secrets/db_password_1",
        "API_KEY=/run/secrets/key1",
        "next_token = result.token2",
        "password: str | None = None",
        "def login(user, password, *, token2=None) -> Auth:",
        "max_tokens=4096, pad_token='<pad0>'",
        '{"type": "object", "properties": {"api_key": {"type": "string"}}}',
        "export OPENAI_API_KEY=sk-...",
        "--password PASSWORD  the password of the user",
        "the secret is to keep at it",
        "http://localhost:8080/a@b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "[REDACTED]",
    ],
)
def test_code_paths_and_placeholders_stay(text: str) -> None:
    """A value that is a call, a variable, a path, a type or a template is none."""
    assert redact_text(text) == text


@proof(quick=1)
@pytest.mark.parametrize("form", LINES)
def test_secrets_in_commands_headers_and_settings_are_known(form: str) -> None:
    """What has no form of its own goes where its place says what it is; what stands around it stays."""
    for seed in range(3):
        line, secrets = line_with_secrets(form, 7 * seed)
        text = redact_text(line)
        assert [secret for secret in secrets if secret in text] == []
        assert text.split(REDACTED)[0] == line[: len(text.split(REDACTED)[0])]
        assert redact_text(text) == text


def test_files_in_base64_stay_whole() -> None:
    """In a megabyte some pieces have the form of a key by chance; a key in a path or a short text still goes."""
    key = sample("sk{a80}7A", 5)
    data = base64.b64encode(bytes(number * 37 % 251 for number in range(3_000))).decode()
    for piece in (f"{data}+{key}{data}", f"{data}/{key}", f"{data[:76]}\n{data[:60]}/{key}\n{data}"):
        assert redact_text(piece) == piece
    for text in (f"{data} {key}", f"/{key}", f"https://example.com/a/{key}", f"{data}\n{key}\n"):
        assert key not in redact_text(text)
