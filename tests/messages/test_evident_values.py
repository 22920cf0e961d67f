"""Values that show by themselves that they are secrets, beside names that say little and beside near names."""

import json

import pytest

from amplifier_module_context_persistent.messages.secrets.evident_values import is_evident, is_made
from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.messages.secrets.redact import redact_text, redact_value
from tests.support.secret_forms import sample

MADE = sample("{a14}7Kx9{a20}", 4)
CHOSEN = ("Hq7!tarnFjord2", "Bf5_amberVelvet9", "Kx4-Uferweg#93b", "mV4$tq9!Lexow")


@pytest.mark.parametrize("value", CHOSEN)
@pytest.mark.parametrize(
    "template",
    [
        'private static let syncPassword = "{}"',
        'const LAST_PASSWORD = "{}";',
        "first_password: '{}'",
        '{{"confirm_password": "{}"}}',
        'resetPassword: "{}",',
        "NEXT_PASSWORD={}",
    ],
)
def test_a_word_that_tells_of_tokens_or_buttons_hides_no_password(template: str, value: str) -> None:
    """The last, next and first token is one of a page or a text; a password is one, whatever is before it."""
    assert redact_text(template.format(value)) == template.format(REDACTED)


@pytest.mark.parametrize("name", ["deployerKey", "MAPS_KEY", "sonnet_key", "Key", "transaction-key"])
def test_a_key_of_anything_is_one_if_a_machine_made_it(name: str) -> None:
    """In a text and in a JSON value."""
    for text in (f'"{name}": "{MADE}"', f"{name}={MADE}", f"{name}: {MADE}"):
        assert redact_text(text) == text.replace(MADE, REDACTED)
    assert redact_value({name: MADE}) == {name: REDACTED}


@pytest.mark.parametrize(
    "text",
    [
        'cacheKey: "{}"',
        'publicKey = "{}"',
        'idempotency_key="{}"',
        '{{"s3_key": "{}"}}',
        'next_token = "{}"',
        'sync_token: "page-2-of-9"',
        'confirmPassword: "Passwords must match"',
        'reset_password: "/auth/reset/v2"',
        "const confirmPassword = form.password2;",
        'deployer_key: "deploy-prod-2"',
        'sort_key = "EVENT#2026-03-04T11:20:07Z"',
    ],
)
def test_keys_of_caches_and_tables_and_labels_stay(text: str) -> None:
    """Their names say that they are no secrets, or their values are words."""
    line = text.format(MADE)
    assert redact_text(line) == line


@pytest.mark.parametrize("value", CHOSEN)
@pytest.mark.parametrize(
    "template",
    [
        'assert.Equal(t, "{}", cfg.Password)',
        'Assert.Equal("{}", options.Password);',
        '$1 = {{user = 0x55 "ops", password = 0x66a8 "{}"}}',
        "(Pdb) p settings.password\n'{}'",
        'Send("{}") ; the password',
    ],
)
def test_an_evident_value_near_a_name_goes(template: str, value: str) -> None:
    """In a comparison, in a debugger, before a comment."""
    text = template.format(value)
    if "$" not in value or "Pdb" not in template:
        assert redact_text(text) == text.replace(value, REDACTED)


@pytest.mark.parametrize(
    "text",
    [
        "the password column is in users2 since v3.1_beta",
        "sshd: Failed password for ops from 10.4.7.19 port 51422 ssh2",
        "the password rule is ^(?=.*[A-Z])(?=.*[0-9]).{12,}$",
        "User#password1 is the writer; fixes GH-1482",
        '{"token": "the", "id": "chatcmpl-Xk7Qm2Lp9Rt4Vw6Yz1Bc3Df5"}',
        "secret rotation moved to v1beta1.SecretStore2",
        "password auth is off, commit 4b35a93e",
        "API key for the cache key: see docs/keys2.md",
    ],
)
def test_ordinary_words_near_a_name_stay(text: str) -> None:
    """Versions, ids with names of their own, hashes, expressions, names of techniques."""
    assert redact_text(text) == text


def test_what_is_evident() -> None:
    """A machine's keys and careful passwords; not hashes, ids, words with numbers, names of techniques."""
    assert is_made(MADE)
    assert all(is_evident(value, "password") for value in CHOSEN)
    assert not any(is_evident(value, "deploy_key_2") for value in ("deploy-2", "server1.example.com"))
    for other in (
        "9f86d081884c7d659a2feaa0c55ad015",
        "9b1f6f2c-7d54-4c4e-8f6a-2a2f9d1e7c33",
        "PBKDF2WithHmacSHA256",
        "my-service-name-2",
        "camelCaseName2",
    ):
        assert not is_evident(other, "password"), other
    assert not is_evident("AAAAC3NzaC1lZDI1NTE5AAAAIPWf72pSX0srdZ6", "deploy_key")


@pytest.mark.parametrize("value", ["#Tarn88fjord", "!Kelp4Moss2a", "%Fen5Marlin0", "&Moor27valLey", "*Pine4Ridge41x"])
@pytest.mark.parametrize("template", ['password: "{}"', 'DB_PASSWORD="{}"', "connect(user='a', password='{}')"])
def test_a_password_may_begin_with_a_sign(template: str, value: str) -> None:
    """Only a reference, a tag or a variable stands for another value."""
    assert redact_text(template.format(value)) == template.format(REDACTED)


@pytest.mark.parametrize(
    "line",
    [
        'password: "#passwordField2"',
        "password: !vault secret2",
        "password: *default_pw2",
        'password: "%DB_PASSWORD2%"',
        'password: "&amp;"',
        "password: #{Password2}",
    ],
)
def test_what_stands_for_a_password_stays(line: str) -> None:
    """Selectors, tags, aliases, variables."""
    assert redact_text(line) == line


@pytest.mark.parametrize("value", ["tarn;Fjord88", "kelp,Moss42", "mN7(heron)Lk", "Qx8[tarn]2!", "fen|Marlin51"])
@pytest.mark.parametrize("template", ["[smtp]\nuser = a\npassword = {}\n", "MAIL_PASSWORD={}", "db:\n  password: {}\n"])
def test_a_setting_is_its_whole_line(template: str, value: str) -> None:
    """A sign that ends a value in a program is part of a password in a file of settings."""
    assert redact_text(template.format(value)) == template.format(REDACTED)


@pytest.mark.parametrize(
    "line",
    ["password = get_password(user1)", "password: config[user1],", "password = items[1];", "password = a1 || b2"],
)
def test_an_expression_is_no_setting(line: str) -> None:
    """A call, an index, an operator."""
    assert redact_text(line) == line


@pytest.mark.parametrize(
    ("template", "form"),
    [
        ("concat('{}', '{}')", ("ghp_", "{a36}")),
        ("['{}', '{}'].join('')", ("sk_live_", "{a24}")),
        ('"".join(["{}", "{}"])', ("glpat-", "{a20}")),
        ('new StringBuilder("{}").append("{}")', ("npm_", "{a36}")),
        ('"%s%s" % ("{}", "{}")', ("rk_live_", "{a30}")),
        ("`{}${{'{}'}}`", ("hf_", "{a34}")),
        ("%w[{} {}].join", ("gsk_", "{a52}")),
    ],
)
def test_pieces_that_a_call_joins_go(template: str, form: tuple[str, str]) -> None:
    """Of a list, a call, a template, a format."""
    first, last = form[0], sample(form[1], 6)
    assert redact_text(template.format(first, last)) == template.format(REDACTED, REDACTED)


@pytest.mark.parametrize(
    "line",
    [
        'prefixes = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]',
        "const KINDS = ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'whsec_'];",
        "concat('user_', 'id')",
        '["pre-", "post-", "mid-"].join("")',
    ],
)
def test_lists_of_prefixes_stay(line: str) -> None:
    """No piece behind them is random."""
    assert redact_text(line) == line


@pytest.mark.parametrize(
    "template",
    ['cloudinary.config("northwharf", "123456789012345", "{}")', 'new Mistral("{}")', 'deepgram = Deepgram("{}")'],
)
def test_the_key_in_a_call_of_a_service_goes(template: str) -> None:
    """Whatever its position is."""
    text = template.format(MADE)
    assert redact_text(text) == text.replace(MADE, REDACTED)


@pytest.mark.parametrize(
    "line",
    [
        'cloudinary.url("sample_Xy7", { width: 100 })',
        'stripe.customers.retrieve("cus_NffrFeUfNV2Hib")',
        'openai.files.retrieve("file-Xk7Qm2Lp9Rt4Vw6Yz1Bc3Df5")',
        'github.getCommit("4e9d899a1b2c3d4e5f60718293a4b5c6d7e8f901")',
        'notion.databases.query("95478a8ada5474fa0a43cba4df1184f2")',
    ],
)
def test_ids_in_calls_of_services_stay(line: str) -> None:
    """They have a prefix, or no capital letters."""
    assert redact_text(line) == line


@pytest.mark.parametrize(
    "value",
    [
        {"password": "Contraseña", "apiKey": "API-Schlüssel", "secret": "Geheimnis"},
        {"password": "パスワード", "token": "Jeton", "client_secret": "Segreto"},
        {"password": "Пароль", "api_key": "Chiave API", "passphrase": "Пароль"},
    ],
)
def test_translations_of_names_stay(value: dict[str, str]) -> None:
    """But a word of small letters may be a password."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    assert redact_text(text) == text
    assert redact_text('"password": "velvetbridge"') == f'"password": "{REDACTED}"'


NOISE = (
    "(v@kdq3pw@@!t)xm7!@b2)wrj#uh8*n4h^5y_0=31hc*-g0$9s",
    "p}K7 |w#Bq~3fL^u!Xd9&Mt2@RvH5+yCgSj(ZeA1nP6;",
    "&o!2*z%9kq^w(4)m#t7@x-e_1$u+8=r{b5}c",
)


@pytest.mark.parametrize("value", NOISE)
@pytest.mark.parametrize("template", ["SECRET_KEY = '{}'", 'app.secret_key = "{}"', "define( 'AUTH_KEY', '{}' );"])
def test_a_key_of_letters_digits_and_many_signs_goes(template: str, value: str) -> None:
    """Whatever sign it begins with, and also with spaces."""
    assert redact_text(template.format(value)) == template.format(REDACTED)


@pytest.mark.parametrize(
    "line",
    [
        "SECRET_KEY = '(?i)api[_-]?key[\"\\s:=]+[a-z0-9]{32}'",
        "define( 'AUTH_KEY', 'put your unique phrase here' );",
        'secret_key = \'{{ lookup("env", "K2") }} and {{ other | default("") }}\'',
    ],
)
def test_expressions_and_templates_with_many_signs_stay(line: str) -> None:
    """They say how a key looks, or where it comes from."""
    assert redact_text(line) == line


@pytest.mark.parametrize("value", ["Kelp7reed&Fen", "Mo2ss&Tarn9", "Hq7fjord&Kd"])
def test_an_and_sign_in_a_bare_password_does_not_end_it(value: str) -> None:
    """Unless another parameter is behind it."""
    text = f"db1 ansible_host=10.0.0.1 ansible_ssh_pass={value} ansible_port=22"
    assert redact_text(text) == text.replace(value, REDACTED)
    assert redact_text("user=a&password=Kelp7reed&remember=1") == f"user=a&password={REDACTED}&remember=1"


@pytest.mark.parametrize("end", ["(the jwt.io sample)", "as the JWT", "is the example token"])
def test_the_end_of_a_long_word_before_a_name_is_no_value(end: str) -> None:
    """A value before a name is judged as a whole: here an example."""
    example = ".".join(
        (
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
            "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ",
            "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        )
    )
    assert redact_text(f"{example} {end}") == f"{example} {end}"
