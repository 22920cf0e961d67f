"""Secrets beside their names, and what stands there and is none."""

import pytest

from amplifier_module_context_persistent.messages.secrets import REDACTED, redact_text
from tests.support.secret_forms import LINES, line_with_secrets


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


@pytest.mark.parametrize("form", LINES)
def test_secrets_in_commands_headers_and_settings_are_known(form: str) -> None:
    """What has no form of its own goes where its place says what it is; what stands around it stays."""
    for seed in range(3):
        line, secrets = line_with_secrets(form, 7 * seed)
        text = redact_text(line)
        assert [secret for secret in secrets if secret in text] == []
        assert text.split(REDACTED)[0] == line[: len(text.split(REDACTED)[0])]
        assert redact_text(text) == text
