"""Secrets beside names in other languages than English are replaced; sentences about passwords stay."""

import pytest

from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.messages.secrets.redact import redact_text, redact_value
from tests.support.growth import assert_grows_with_the_text
from tests.support.secret_forms import sample
from tests.support.sweeps import proof

PASSWORD = sample("{a3}7{a2}@{a6}", 1)
KEY = sample("{a12}7K{a18}", 2)


@pytest.mark.parametrize(
    "template",
    [
        "Das Passwort lautet {}",
        "Kennwort für die Datenbank: {}",
        "mot de passe : {}",
        "Le mot de passe du compte est `{}`.",
        "MDP={}",
        "La contraseña es: {}",
        "contrasen\u0303a: {}",
        "**Senha:** {}",
        "A senha é {}, guarde-a.",
        "Wachtwoord: {}",
        "hasło: {}",
        "Heslo: {}",
        "Lösenord: {}",
        "parola: '{}'",
        "пароль: {}",
        "Пароль от базы: {}",
        "密码\uff1a{}",
        "密码是{}。",
        "パスワードは{}です",
        "パスワード\uff1a「{}」",
        "비밀번호: {}",
        "كلمة المرور: {}",
        "mật khẩu: {}",
    ],
)
def test_a_password_beside_its_name_in_another_language_goes(template: str) -> None:
    """Exactly the password; the words around it stay."""
    assert redact_text(template.format(PASSWORD)) == template.format(REDACTED)


@pytest.mark.parametrize(
    "template",
    [
        "Clé d'API : {}",
        "API-Schlüssel: {}",
        "clave secreta: {}",
        "Секретный ключ: {}",
        "密钥\uff1a{}",
        "APIキー\uff1a{}",
    ],
)
def test_a_key_beside_its_name_in_another_language_goes(template: str) -> None:
    """If it looks made by a machine."""
    assert redact_text(template.format(KEY)) == template.format(REDACTED)


@pytest.mark.parametrize(
    "line",
    [
        "Das Passwort ist zu kurz.",
        "Passwort: mindestens 8 Zeichen",
        "Le mot de passe est obligatoire.",
        "La contraseña debe tener al menos 8 caracteres.",
        "Пароль должен содержать не менее 8 символов",
        "пароль: не менее 8 символов",
        "密码\uff1a8-20位\uff0c包含字母和数字",
        "パスワードは8文字以上16文字以下で入力してください",
        "비밀번호는 8자 이상이어야 합니다",
        "clave: order_2024",
        "clave: 5f2c9d1e-7a6b-4c3d-8e9f-0a1b2c3d4e5f",
        "Schlüssel: https://example.org/a1b2c3d4e5f6a7b8",
        "Passwort: ${DB_PASSWORD_1}",
        "Passwort: siehe /etc/app/secrets1.yml",
        "parola d'ordine: 12",
        'msgid "Password"\nmsgstr "Passwort"',
    ],
)
def test_sentences_about_passwords_stay(line: str) -> None:
    """Rules for passwords, variables, references and ids."""
    assert redact_text(line) == line


@proof
def test_the_time_of_the_search_grows_with_the_text() -> None:
    """Also of names without a value, one after the other."""
    assert_grows_with_the_text(redact_text, "mot de passe " * 40_000)


@pytest.mark.parametrize("key", ["пароль", "mot_de_passe", "Contraseña", "密码", "db-passwort", "clave", "clé API"])
def test_a_key_in_another_language_names_the_secret_that_it_holds(key: str) -> None:
    """In the arguments of a call and other JSON values."""
    assert redact_value({key: KEY}) == {key: REDACTED}


def test_other_keys_in_another_language_keep_their_values() -> None:
    """Sentences, and values that no machine made."""
    kept = {"пароль": "не менее 8 символов", "clave": "order_2024", "parolaio": "a1b2c3d4", "mot_de_passe": "string"}
    assert redact_value(kept) == kept
