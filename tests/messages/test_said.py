"""Passwords in sentences, logins of a name and a password, recovery codes, and names in other languages in tables."""

from __future__ import annotations

import quopri
from urllib.parse import quote

import pytest

from amplifier_module_context_persistent.messages.secrets.redact import redact_text, redact_value
from tests.support.growth import assert_grows_with_the_text
from tests.support.sweeps import proof

PASSWORDS = ("Tiger#829kk", "mango-152kk?", "Winter_993Zr", "xK7pQ2vLm9", "a!9f$Kd2")

SAID = (
    "the root password {} is on the box",
    "log in as admin with password {} and look",
    "passphrase for the key is {}",
    "I changed the password to {} yesterday",
    "password \u2192 {}",
    "DB password - {}",
    "try the password `{}` first",
    "ssh root@10.0.0.1 (pw {})",
    "username admin, password {}",
    "het wachtwoord is {}",
    "ich habe das Passwort auf {} ge\u00e4ndert",
    "L\u00f6senordet \u00e4r {}",
    "la contrase\u00f1a {} no funciona",
)
LOGINS = (
    "login: admin / {}",
    "user/pass: admin / {}",
    "Logins:\n- ada@example.org / ops1\n- admin@example.org / {}",
    "| Environment | Login |\n|---|---|\n| staging | admin / {} |",
    "Zugangsdaten f\u00fcrs Staging: ada@example.org / {}",
    "\u043b\u043e\u0433\u0438\u043d: ivan / {}",
)
TABLES = (
    "| usuario | contrase\u00f1a |\n|---|---|\n| ana | {} |",
    "| \u7528\u6237\u540d | \u5bc6\u7801 |\n| --- | --- |\n| root | {} |",
    "nom,mot de passe,r\u00f4le\njean,{},admin",
    "Benutzer;Kennwort;Host\nroot;{};db1",
)


@proof(quick=1)
@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("template", [*SAID, *LOGINS, *TABLES])
def test_a_password_goes_from_a_sentence_a_login_and_a_table(template: str, password: str) -> None:
    """What is around it stays."""
    clean = redact_text(template.format(password))
    assert password[:-1] not in clean
    assert clean.startswith(template[:3])
    assert "[REDACTED]" in clean


@pytest.mark.parametrize("name", ["contrase\u00f1a", "\u043f\u0430\u0440\u043e\u043b\u044c", "mot de passe"])
def test_a_name_in_another_language_is_read_in_the_encodings_of_mails_and_urls(name: str) -> None:
    """Quoted-printable and percent signs, of UTF-8."""
    secret = "Qm4tZ8wLp2Xc6"
    for text in (f"a=1&{quote(name)}={secret}&b=2", quopri.encodestring(f"{name}: {secret}".encode()).decode()):
        assert secret not in redact_text(text), text


CODES = {
    "letters": ["97c2r-g8r7m", "1qq18-ncwv4", "br2fs-p5d2l"],
    "digits": ["58981122", "21824119", "85884339"],
    "groups of digits": ["5734 1334", "9415 1647", "7114 6972"],
    "words": ["1x7yt41qfy", "h35cm2da4y", "klxf8qn5tt"],
    "one of five groups": ["YER4F-7SSIV-8JQUJ-U4WEM-DO1LE"],
    "one of eight groups": ["566426-383746-732186-887852-459642-785198-431148-662591"],
}
LABELS = (
    "Recovery codes",
    "Your Google backup codes are",
    "2FA backup codes (keep them)",
    "Wiederherstellungscodes",
    "backupCodes",
)
LISTS = (":\n{}", "\n\n{}", ": {}", ":\n{}\n\nThese codes are shown once.")


@proof(quick=1)
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("layout", LISTS)
def test_recovery_codes_go_whole(kind: str, label: str, layout: str) -> None:
    """One a line, with bullets or numbers, or behind one another."""
    codes = CODES[kind]
    joints = ["\n", "\n- ", ", "] if "\n" in layout else [", "]
    numbered = "\n".join([f"{number}. {code}" for number, code in enumerate(codes, 1)])
    for listed in [*(joint.join(codes) for joint in joints), *([numbered] if "\n" in layout else [])]:
        clean = redact_text(label + layout.format(listed))
        assert not [code for code in codes if code in clean], clean
        assert clean.startswith(label)


def test_recovery_codes_of_a_json_value_go() -> None:
    assert redact_value({"recovery_codes": ["e581vnnu6x", "abcdefghij"]}) == {"recovery_codes": ["[REDACTED]"] * 2}


@pytest.mark.parametrize(
    "text",
    [
        "login: admin / role: owner",
        "login as admin / operator / viewer",
        "Login / Logout buttons moved to the header",
        "login: see docs/login.md / section 3.2",
        "the password must have 8 characters, e.g. letters + digits",
        "Password hashing: PBKDF2WithHmacSHA256",
        "password reset for user1!",
        "password authentication failed for user postgres at 10.0.0.5:5432",
        "PK11_CheckUserPassword(PK11SlotInfo *slot, const char *pw);",
        "SECStatus PK11_CheckUserPassword (PK11SlotInfo *slot, const char *pw);",
        "password issue repo#123 is closed since 2026-01-02T10:00:00Z",
        "recovery codes: keep them in a safe place",
        "backup codes: 10 remaining, made 2026-11-26",
        "area codes: 415, 650, 408",
        "error codes: 10404, 10405, 10406",
        "recovery code path: retry-fetch then clear-cache",
        "backup keys: users, orders, items",
        "otp code: 123456 is an example",
        "your pin: 17",
        "the GPIO pin is 4096",
        "PIN code: 560001",
        "my pin header: 1024 bytes",
        "connect your GPIO pin: 4017 ohm",
        "error code: 500123",
        "verification code 404 was returned in 120034ms",
        "your verification code is 111111",
        "password = 'not closed",
        "{'token': 'tokenizer, ...",
        "key = 'a' + 'b'",
        "Digest algorithm, response=ok",
        '{"name": "session", "path": "/srv/sessions"}',
        "Passwort vergessen? Hier zur\u00fccksetzen",
        "| user | contrase\u00f1a | min |\n|---|---|---|\n| ana | obligatoria | 8 |",
        "staging user / admin2 role",
    ],
)
def test_what_only_sounds_like_one_stays(text: str) -> None:
    """Prose about passwords, code, counts and dates."""
    assert redact_text(text) == text


@proof(quick=1)
@pytest.mark.parametrize(
    "unit",
    [
        "login ",
        "recovery code ",
        "backup codes 1234-5678 ",
        "passwort ",
        "login: a / b1 ",
        "mot_de_passe ",
        "%C3%B1",
        "=C3=B1",
    ],
)
def test_the_time_grows_with_the_text(unit: str) -> None:
    assert_grows_with_the_text(redact_text, unit * (100_000 // len(unit)))
