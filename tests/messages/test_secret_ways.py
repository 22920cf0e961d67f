"""Ways in which secrets appear in sessions: of two lists of 100 at most three pass; what only looks like one stays."""

import base64
import hashlib
import json

import pytest

from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.messages.secrets.redact import redact_text, redact_value
from amplifier_module_context_persistent.messages.secrets.seed_phrases import LENGTHS, is_seed_phrase
from amplifier_module_context_persistent.messages.secrets.seed_words import ENGLISH
from tests.support.growth import assert_grows_with_the_text
from tests.support.secret_forms import sample
from tests.support.secret_ways import filled, ways
from tests.support.sweeps import proof, spread

HEX = sample("{h64}", 1)
RANDOM = sample("{a12}7K{a18}", 2)


@proof(quick=1)
@pytest.mark.parametrize("name", ["check", "build"])
def test_at_most_three_of_100_ways_pass(name: str) -> None:
    """Of the list that the tables were made by, and of one that nothing was tuned to."""
    passed = set()
    for number, (way, template) in enumerate(ways(name)):
        for seed in range(3):
            text, secrets = filled(template, 31 * number + seed)
            assert secrets, way
            clean = redact_text(text)
            if any(secret in clean for secret in secrets):
                passed.add(way)
    assert len(ways(name)) >= 100
    assert len(passed) <= 3, sorted(passed)


@pytest.mark.parametrize("part", range(4))
@proof(quick=1)
def test_no_way_of_a_known_kind_passes(part: int) -> None:
    """Commands, their input and output, files, rows below a head, values before their names."""
    for number, (way, template) in enumerate(ways("kinds")[part::4]):
        text, secrets = filled(template, 17 * number + part)
        clean = redact_text(text)
        assert secrets, way
        assert not [secret for secret in secrets if secret in clean], f"{way}: {clean}"


@pytest.mark.parametrize("part", range(4))
@proof(quick=1)
def test_what_people_paste_and_say_is_replaced(part: int) -> None:
    """Settings, commands, calls and sentences of twenty languages, with passwords as people choose them."""
    passed, templates = set(), ways("pasted")[part::4]
    for number, (way, template) in enumerate(templates):
        for seed in range(3):
            text, secrets = filled(template, 13 * number + seed)
            clean = redact_text(text)
            assert secrets, way
            if any(secret in clean for secret in secrets):
                passed.add(way)
    assert len(templates) > 60
    assert len(passed) <= 2, sorted(passed)


@pytest.mark.parametrize("part", range(4))
@proof(quick=1)
def test_no_way_of_settings_programs_and_logs_passes(part: int) -> None:
    """Files of settings, 25 languages, SQL, command lines, logs, tests, tables and chats."""
    passed, templates = set(), ways("sources")[part::4]
    for number, (way, template) in enumerate(templates):
        for seed in range(3):
            text, secrets = filled(template, 7 * number + seed)
            clean = redact_text(text)
            assert secrets, way
            if any(secret in clean for secret in secrets):
                passed.add(way)
    assert len(templates) > 90
    assert len(passed) <= 1, sorted(passed)


@pytest.mark.parametrize("part", range(4))
@proof(quick=1)
def test_no_way_of_names_signs_pieces_and_services_passes(part: int) -> None:
    """Names that say little, signs in values, joined pieces, calls by position, keys without a name."""
    passed, templates = set(), ways("spread")[part::4]
    for number, (way, template) in enumerate(templates):
        for seed in range(3):
            text, secrets = filled(template, 11 * number + seed)
            clean = redact_text(text)
            assert secrets, way
            if any(secret in clean for secret in secrets):
                passed.add(way)
    assert len(templates) > 90
    assert len(passed) <= 1, sorted(passed)


@pytest.mark.parametrize("part", range(4))
@proof(quick=1)
def test_no_way_of_given_values_passes(part: int) -> None:
    """Users with passwords in one word, prompts, answers, files of registries, hashes of Windows, network devices."""
    for number, (way, template) in enumerate(ways("given")[part::4]):
        for seed in range(2):
            text, secrets = filled(template, 19 * number + seed)
            clean = redact_text(text)
            assert secrets, way
            assert not [secret for secret in secrets if secret in clean], f"{way}: {clean}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("curl -u robin:'{}' https://a.io", "curl -u robin:'{}' https://a.io"),
        ("curl -sSu admin:{} https://a.io", "curl -sSu admin:{} https://a.io"),
        ('["curl", "-u", "robin:{}", url]', '["curl", "-u", "robin:{}", url]'),
        ("curl -u robin:{} a.io | docker run -u app1:staff2 b", "curl -u robin:{} a.io | docker run -u app1:staff2 b"),
        ("psexec.py acme/robin:{}@10.0.0.4", "psexec.py acme/robin:{}@10.0.0.4"),
        ("echo {} > config/master.key && ls", "echo {} > config/master.key && ls"),
        ("initdb --pwfile=<(echo '{}') -D /srv/pg2", "initdb --pwfile=<(echo '{}') -D /srv/pg2"),
        ("What's the password?\nIt's {}.\nThanks 2", "What's the password?\nIt's {}.\nThanks 2"),
        ("robin@acme.io:{}\n", "robin@acme.io:{}\n"),
    ],
)
def test_only_the_value_that_is_given_goes(text: str, expected: str) -> None:
    """The user, the host, the file and the rest of the line stay."""
    assert redact_text(text.format("Hq7!tarnFjord2")) == expected.format(REDACTED)


def test_a_key_in_the_place_of_a_user_goes() -> None:
    """A user's name without a password stays."""
    assert redact_text(f"curl -u {RANDOM}: https://a.io") == f"curl -u {REDACTED}: https://a.io"
    assert redact_text(f"curl -u {HEX[:32]}:X https://a.io") == f"curl -u {REDACTED}:X https://a.io"
    assert redact_text("curl -u robin2: https://a.io") == "curl -u robin2: https://a.io"


def test_files_of_registries_are_known_as_json_values() -> None:
    """As a tool's arguments have them; other fields named `key` or `tokens` stay."""
    value = {
        "kaggle": {"username": "robin", "key": HEX[:32]},
        "github-oauth": {"github.com": HEX[:40]},
        "api_keys": {"acme": RANDOM, "type": "object"},
        "tokens": {"git.acme.io": HEX[:40], "max": 4096, "sha": HEX[:40]},
        "cache": {"key": HEX[:32], "size": 12},
    }
    clean = {
        "kaggle": {"username": "robin", "key": REDACTED},
        "github-oauth": {"github.com": REDACTED},
        "api_keys": {"acme": REDACTED, "type": "object"},
        "tokens": {"git.acme.io": REDACTED, "max": 4096, "sha": HEX[:40]},
        "cache": {"key": HEX[:32], "size": 12},
    }
    assert redact_value(value) == clean
    assert redact_text(json.dumps(value)) == json.dumps(clean)


@pytest.mark.parametrize("line", list(spread([line for line, _ in ways("stays")], 8)))
def test_ordinary_lines_beside_them_stay(line: str) -> None:
    """Sentences about passwords, calls of clients without one, counts, names of techniques."""
    text = line.replace("⏎", "\n")
    assert redact_text(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("kind: Secret\nmetadata:\n  name: pg-main\ndata:\n  user: YXBwX3J3\ntype: Opaque", "YXBwX3J3"),
        (
            '{"kind": "Secret", "metadata": {"name": "pg-main"}, "data": {"a": "YXBwX3J3"}, "type": "Opaque"}',
            "YXBwX3J3",
        ),
        (f"https://a.io/v1?api_key={RANDOM}&q=1&units=metric", RANDOM),
        (f"user=a&PASSWORD={RANDOM}&remember=1", RANDOM),
        (f"pulumi config set --secret dbPass {RANDOM}", RANDOM),
    ],
)
def test_what_is_around_a_secret_stays(text: str, secret: str) -> None:
    """The name and the type of a Secret of Kubernetes, the parameters after a key, the name that a command sets."""
    assert redact_text(text) == text.replace(secret, REDACTED)


def test_the_value_of_an_object_is_named_by_the_objects_key() -> None:
    """As Terraform, templates of Azure and databases write them, in a JSON value and in a text."""
    value = {"db_password": {"sensitive": True, "type": "string", "value": "amber-Bridge-19"}, "host": {"value": "db1"}}
    clean = {**value, "db_password": {**value["db_password"], "value": REDACTED}}
    assert redact_value(value) == clean
    assert redact_text(json.dumps(value, indent=2)) == json.dumps(clean, indent=2)


def test_a_section_of_passwords_has_one_for_each_user() -> None:
    """In a JSON value and in a text; settings of the section stay."""
    value = {"passwords": {"root": "Kd8fjW2x9", "robin": "velvetbridge", "min_length": "12"}, "host": "db1"}
    clean = {"passwords": {"root": REDACTED, "robin": REDACTED, "min_length": "12"}, "host": "db1"}
    assert redact_value(value) == clean
    for text, redacted in (
        (json.dumps(value), json.dumps(clean)),
        (json.dumps(value, indent=1), json.dumps(clean, indent=1)),
    ):
        assert redact_text(text) == redacted


def phrase(length: int, number: int) -> list[str]:
    """A phrase with a valid checksum, made by the standard's rule in another way than the search reads it."""
    size = length * 4 // 3
    entropy = hashlib.sha512(f"{length} {number}".encode()).digest()[:size]
    bits = int.from_bytes(entropy + hashlib.sha256(entropy).digest()[:1], "big") >> (8 - size // 4)
    return [ENGLISH[bits >> (11 * (length - 1 - place)) & 2047] for place in range(length)]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("between", [" ", "\n", ", ", '", "', "  "], ids=repr)
def test_a_seed_phrase_goes_whole(length: int, between: str) -> None:
    """Of every length, in prose, in a list, one word a line, with numbers."""
    for number in range(5):
        words = phrase(length, number)
        assert redact_text(f"It is:\n\n{between.join(words)}.\n") == f"It is:\n\n{REDACTED}.\n"
        numbered = " ".join([f"{place}. {word}" for place, word in enumerate(words, 1)])
        assert words[-1] not in redact_text(f"> {numbered}")


def test_words_without_a_valid_checksum_are_prose() -> None:
    """With one word changed, 15 of 16 phrases stay; so do the list itself and the example of the standard."""
    stays = 0
    for number in range(64):
        words = phrase(12, number)
        words[5] = ENGLISH[(ENGLISH.index(words[5]) + 1) % 2048]
        text = "so " + " ".join(words)
        stays += redact_text(text) == text
        assert is_seed_phrase(words) == (redact_text(text) != text)
    assert stays >= 50
    for text in (" ".join(ENGLISH), "\n".join(ENGLISH), "abandon " * 11 + "about", "abandon " * 23 + "art"):
        assert redact_text(text) == text


def test_the_word_list_is_that_of_the_standard() -> None:
    """By the hash of bip-0039/english.txt."""
    text = "".join([f"{word}\n" for word in ENGLISH])
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"
    )


@pytest.mark.parametrize(
    "text",
    [
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "STRIPE_SECRET_KEY=" + "sk_test_" + "x" * 16,
        "ghp_" + "x" * 36,
        "glpat-" + "X" * 20,
        "xoxb-" + "not-a-real-token",
        "https://hooks.slack.com/" + "services/T00000000/B00000000/" + "X" * 24,
        "Authorization: Basic " + base64.b64encode(b"Aladdin:open sesame").decode(),
        "Authorization: Basic " + base64.b64encode(b"username:password").decode(),
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        f"sha256:{HEX}  integrity of the file",
        f"| commit | {HEX[:40]} |",
        f'{{"name": "digest", "value": "{HEX}"}}',
        f"| file | sha256 |\n| --- | --- |\n| a.txt | {HEX} |",
        "| name | token |\n| --- | --- |\n| max | 4096 |\n| pad | <pad> |",
        "token,count\nthe,1200\nof,900",
        "| key | value |\n| --- | --- |\n| retries3 | 5 |",
        "const tokenType: string = 'bearer';",
        "password: str = Field(default=None)",
        "const password: string = await prompt('Password of user1: ');",
        "let key: String = config.get(\"cache_key_v2\")",
        "var tokenPattern string = `[a-z0-9]+`",
        "#define KEY_ESC 27",
        "#define TOKEN_MAX_LEN 4096",
        "  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: db-credentials-2",
        "The key is: 'user_id_2' in the table",
        "The primary key is order_id2",
        "public key: ssh-ed25519",
        "Password reset link sent at 2026-03-01T10:00:00Z",
        "**Token count:** 12,345",
        "API key: see 1Password",
        "API key: ${API_KEY}",
        "Access token: <your-token-1>",
        "The secret is out: version 2.0.1 ships",
        '<key>CFBundleIdentifier</key>\n<string>com.example.App2</string>',
        '<string name="password_hint2">Your password</string>',
        "aGVsbG8gd29ybGQsIHRoaXMgaXMganVzdCBhIHNlbnRlbmNlIGluIGJhc2U2NA==",
        "docker run -p 8080:80 -P --name app1 img2",
        "mysql -P 3306 -u root app1",
        "INSERT INTO users (name, password) VALUES (?, ?)",
        "INSERT INTO users (name, password_hash) VALUES ($1, crypt($2, gen_salt('bf')))",
        '{"columns": ["name", "token"], "rows": [["max", 4096], ["pad2", null]]}',
        "def login(user, password):\n    return f('utf8x', 'sha256')",
        "<tr><th>Token</th><th>Count</th></tr><tr><td>the1</td><td>12</td></tr>",
        'BUILTINS = {"pass": ["rgb2gray", "str2double", "table"]}',
        "Use v2.0.1 as the password manager's version",
        "The sha256 is 2cf24dba5f is the password hash",
        "$ echo $API_KEY_FILE\n/run/secrets/api_key_2",
        ">>> len(token)\n12345678",
        "$ git log\ncommit2f5c8f76dbdaf28402802f68ad98a874",
        "kind: SecretStore\ndata:\n  path: secret-data-2",
        "cargo login --registry x2",
        "echo done-1 | tee passwd.txt",
        "OpenAI: resp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N",
        "GitHub is 2f5c8f76dbdaf28402802f68ad98a874ac2af1e0",
        "https://git@github.com/acme/lib-2.git",
        "password:\n  default: null\n  type: string2",
        "const port = process.env.TOKEN_PORT || 'http2server';",
        "the quick brown fox jumps over the lazy dog and runs away from the old farm house near the river",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        ".example.com\tTRUE\t/\tTRUE\t1799999999\ttheme\tdark",
        "mysqldump --password --single-transaction shop",
        "POSTGRES_PASSWORD: postgres",
        "ENCRYPTION_KEY=generate-with-openssl-rand-hex-32",
        "client_secret: op://prod/oauth/client-secret2",
        "password: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-2",
        "bypass: route2server",
        "nexttoken = 'page2token7of9items'",
        'const passwordLabel: string = "PasswordsMustMatchAgain"',
        '{"name": "theme", "value": "dark-blue-2", "domain": ".acme.dev"}',
        '{"name": "www", "type": "A", "domain": "acme.dev", "value": "10.0.0.12"}',
        'jwt.encode({"sub": "a"}, "secret", algorithm="HS256")',
        "createHmac('sha256', process.env.SECRET_2)",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Examples of documentations, hashes, types, counts, calls, references and text in base64."""
    assert redact_text(text) == text


@pytest.mark.parametrize("lines", [1, 3])
@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le"])
def test_base64_of_settings_goes_whole(lines: int, codec: str) -> None:
    """On one line or several, as a shell and PowerShell encode it; what is around it stays."""
    text = f"DEBUG=1\nDB_PASSWORD={RANDOM}\n" + "NAME=a\n" * 20
    run = base64.b64encode(text.encode(codec)).decode()
    wide = "\n".join([run[at : at + 76] for at in range(0, len(run), 76)]) if lines > 1 else run
    assert redact_text(f"$ base64 .env\n{wide}\n$ ls") == f"$ base64 .env\n{REDACTED}\n$ ls"


def test_colours_and_encodings_around_pairs_are_read() -> None:
    """A coloured YAML, a JSON in JSON, a table in a JSON string."""
    for text in (
        f"\x1b[36m- name\x1b[0m: \x1b[32mAPI_TOKEN\x1b[0m\n  \x1b[36mvalue\x1b[0m: \x1b[32m{RANDOM}\x1b[0m",
        f'{{"stdout": "[{{\\"name\\": \\"API_TOKEN\\", \\"value\\": \\"{RANDOM}\\"}}]"}}',
        f'{{"stdout": "user,api_token\\nalice,{RANDOM}\\n"}}',
    ):
        assert redact_text(text) == text.replace(RANDOM, REDACTED)


@proof(quick=1)
@pytest.mark.parametrize(
    "piece",
    [
        *('password: string = "', "name: API_KEY ", "| token | key |\n", "token,key\n", "api key is "),
        *("value: x name: password ", "word ", "abandon ", "1. abandon ", "**password** ", "QUJD\n", "key |"),
        *("name: password\n  a: b\n", "password  key  token  \n", "secret: >-\n ", "<key>password</key>"),
        *("password\t", "set password ", "(password, ", "x1 is the password ", "$ echo $TOKEN\n"),
        *("mysql -p ", "['password',"),
        *("insert (password) values ('a1', ", "<tr><th>Password</th></tr>", "kind: Secret\ndata:\n  a: b\n"),
        *("the password of x is ", "log in as root with a1 ", 'db.connect("a", ', "Recovery codes\nx.\n"),
        *("the PIN of ", "psk=", '{"password": {"a": ', "password, ", "seed phrase abandon ", "wifi key "),
        *("user: a ", "kind: Secret\ndata:\n"),
        *("curl -u a:b ", "curl ", '["curl", "-u", ', "curl\n- -u\n- a:b\n", "robin@a.io:x ", "a:bbbbbb@c.de "),
        *('"user": "a", "key": ', "(echo abcd; ", "echo abcd > ", "--pwfile=<(echo abcd) ", "tacacs server a\n"),
        *("NTLM : ", "what password?\n"),
        *("Enter it again: ", "password\nConfirm: ", "app password for ", "psexec.py a:b ", "api_keys:\na: b\n"),
        *("qpdf --encrypt ", "snmp-server user a b ", "$ cat a.key\n", "ntp authentication-key ", "user=a:b\n"),
        *("redis-cli\n- -a\n- ", "password on a on ", "api key, it's ", "पासवर्ड a ", "unseal key 1: "),
        *("login(Some(", "รหัสผ่าน ", "password sekarang ", "Password=a$1;", "successfully reset.\n", "net rpc -U a "),
        *("'ghp_', ", "secret Hq7!aB9 ", "openai(a, 'b', ", "password: a;1\n", "396671 ", "||user||password||\n"),
        *("authorization: basic a ", 'provider :a, "bbbb", ', "encryption_key = [1, ", "login `a` / "),
        *("<auth-user-pass>\nb\n", "password.value = ", "openai.a(b, ", 'set_token("a", ', "'ghp_' + 'a', "),
        *("confirm_password = ", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN KEY-----\n\n"),
        *("echo x1 | ", '{"name": "a", "httpOnly": ', 'cookies={"a": "b", ', "jwt.sign(a, 'b1', "),
    ],
    ids=repr,
)  # fmt: skip
def test_a_text_of_names_takes_time_as_it_is_long(piece: str) -> None:
    """No place of a name costs the square of a text."""
    assert_grows_with_the_text(redact_text, piece * (60_000 // len(piece)))


@pytest.mark.parametrize(
    "template",
    [
        r"net use \\srv\share /user:corp\bob {a6}7{a5}",
        "7z x -p{a6}7{a5} a.7z",
        "wandb login {h40}",
        "snyk auth {h8}-{h4}-4{h3}-a{h3}-{h12}",
        "ngrok config add-authtoken 2{a26}_{a20}",
        'gh secret set DEPLOY_KEY --body "{a32}"',
    ],
)
def test_secrets_that_commands_are_given_are_replaced(template: str) -> None:
    """Of commands that take them without a name."""
    command = sample(template, 5)
    secret = max(command.removesuffix(" a.7z").replace("-p", " ").replace('"', " ").split()[-1:], key=len)
    clean = redact_text(command)
    assert secret not in clean
    assert clean.split()[0] == command.split()[0]


@pytest.mark.parametrize(
    "line",
    [
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxx",
        '"hashed_secret": "7d3f1e2a4b5c6d7e8f90123456789abcdef01234",',
        "!Sub '{{resolve:secretsmanager:MySecret:SecretString:password}}'",
    ],
)
def test_stand_ins_for_secrets_stay(line: str) -> None:
    """Filled with the letter x, hashed already, or read elsewhere."""
    assert redact_text(line) == line


@pytest.mark.parametrize(
    "template", ["pw: {}", "DB_PW={}", "Password:\n  {}\n", "**API key:**\n{}", "- Secret key:\r\n{}"]
)
def test_a_short_name_and_a_value_on_the_next_line_are_seen(template: str) -> None:
    """As people write them into a chat."""
    secret = sample("{a4}7K{a3}!{a6}", 3)
    assert redact_text(template.format(secret)) == template.format(REDACTED)


@pytest.mark.parametrize(
    "text",
    [
        "password:\n  minLength: 8\n",
        "secret:\n  secretName: tls-cert-1\n",
        "Password:\nAt least 8 characters",
        "Password:\n  pbkdf2-sha256 rounds",
    ],
)
def test_settings_and_prose_below_a_name_stay(text: str) -> None:
    """Only a value that is alone on its line is one."""
    assert redact_text(text) == text


@pytest.mark.parametrize("between", ["-", " - ", "-\n    ", "", " ", "\n"], ids=repr)
def test_a_recovery_key_of_bitlocker_goes(between: str) -> None:
    """Eight groups of six digits that are multiples of 11; one that is none makes them other numbers."""
    groups = [f"{11 * number:06}" for number in (17325, 42145, 34214, 32915, 61354, 64063, 28696, 26874)]
    key = between.join(groups)
    assert redact_text(f"Password:\n    {key}\n") == f"Password:\n    {REDACTED}\n"
    other = between.join([*groups[:-1], "295615"])
    assert redact_text(f"Serial:\n    {other}\n") == f"Serial:\n    {other}\n"
    assert redact_text(f"Serial:\n    1{key}\n") == f"Serial:\n    1{key}\n"


def test_joined_pieces_of_long_texts_are_read_once() -> None:
    """Joins and first lines of keys again and again."""
    for piece in ("'rk_live_' +\n  ", "-----BEGIN PRIVATE KEY-----\\n", "'a' + 'b' + ", "a" * 80 + "\n"):
        assert_grows_with_the_text(redact_text, piece * (60_000 // len(piece)))


TWO_ROWS = {
    "SQL": "INSERT INTO users (name, password) VALUES ('anna', '{}'), ('ben', '{}');\nSELECT 'carl', 'not-a-3rd';",
    "SQL over lines": "insert into users (name, password, id) values\n  ('anna', '{}', 1),\n  ('ben', '{}', 2);",
    "COPY": "COPY users (name, password) FROM stdin;\nanna\t{}\nben\t{}\n\\.\n",
    "JSON": '{{"columns": ["name", "password"], "rows": [["anna", "{}"], ["ben", "{}"]]}}',
    "HTML": "<table><tr><th>Name</th><th>Password</th></tr><tr><td>anna</td><td>{}</td></tr>"
    "<tr><td>ben</td><td><b>{}</b></td></tr></table><p>anna and ben</p>",
    "HTML with attributes": "<thead><tr class='h'><th>Password</th><th>Name</th></tr></thead><tbody>\n"
    "<tr><td align='left'>{}</td><td>anna</td></tr>\n<tr>\n<td>{}</td>\n<td>ben</td></tr></tbody>",
    "a list": '{{"name": "anna", "password": ["{}", "{}"]}}',
}


@pytest.mark.parametrize("form", TWO_ROWS)
def test_each_row_below_a_head_is_read(form: str) -> None:
    """The last one, too; of each row the cell below the name alone."""
    text = TWO_ROWS[form]
    assert redact_text(text.format("k9Vq-Wm2-77pL", "Zx81-Qq7-pLm2")) == text.format(REDACTED, REDACTED)
