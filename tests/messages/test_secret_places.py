"""Secrets that are known by where they stand: URLs, headers, cookies, commands, files."""

import pytest

from amplifier_module_context_persistent.messages.secrets import REDACTED, redact_text
from tests.support.secret_forms import line_with_secrets


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
