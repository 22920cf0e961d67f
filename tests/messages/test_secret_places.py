"""Secrets that are known by where they stand: URLs, headers, cookies, commands, files."""

import pytest

from amplifier_module_context_persistent.messages.secrets import REDACTED, redact_text


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
