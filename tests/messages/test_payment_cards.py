"""Numbers of cards, their check values and PINs: what counts beside a name, and what stays."""

import re

import pytest

from amplifier_module_context_persistent.messages.secrets.found import REDACTED
from amplifier_module_context_persistent.messages.secrets.own_forms import own_forms
from amplifier_module_context_persistent.messages.secrets.redact import redact_text, redact_value

NUMBER = "4539148803436467"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"card_number={NUMBER}", NUMBER),
        ("Card number: 4539 1488 0343 6467, valid", "4539 1488 0343 6467"),
        ("cvv: 917", "917"),
        ("user,pin\nrobin,4917", "4917"),
        ('{"user": "robin", "pin": "4917"}', "4917"),
        ("SIM_PIN=4917", "4917"),
    ],
)
def test_a_number_beside_its_name_goes(text: str, secret: str) -> None:
    """In a setting, a sentence, a column, an object."""
    assert redact_text(text) == text.replace(secret, REDACTED)


@pytest.mark.parametrize(
    "text",
    [
        f"card_number={NUMBER[:-1]}8",
        f"order {NUMBER}",
        "card: 4111 1111 1111 1111",
        "pin,signal\n1024,CLK",
        "cvv: 9170423",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    """A wrong check digit, no name, a test number, the pins of a chip."""
    assert redact_text(text) == text


def test_the_fields_of_a_card_go() -> None:
    """Under their keys in a JSON value."""
    value = {"cvc": "917", "card_number": NUMBER, "exp_month": "12"}
    assert redact_value(value) == {"cvc": REDACTED, "card_number": REDACTED, "exp_month": "12"}


@pytest.mark.parametrize(
    "text",
    [
        '{"passcode": 736251}',
        '"pin": "48213377"',
        '{"otp": "482133"}',
        r"{\"user_pin\": 4821}",
        '{"verification_code": "481516"}',
        '{"one_time_code": 482913, "oneTimeCode": 482913}',
        '"secret": 987654321',
        '"api_key": 123456789012',
        r"{\"db_password\": 12345678901}",
    ],
)
def test_a_code_under_its_key_goes(text: str) -> None:
    assert not re.search(r"\d", redact_text(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"pin": 13, "mapping": 4821}',
        '{"pass": 1500, "tokens": 123456}',
        '{"zip_code": 48213}',
        '{"phase_one_time": 123456}',
        '{"pass": 1500000000}',
        '{"secret": 98765432}',
    ],
)
def test_counts_and_pins_of_a_chip_stay(text: str) -> None:
    assert redact_text(text) == text


def test_numbers_go_as_texts_do() -> None:
    arguments = {"cvv": 837, "card_number": int(NUMBER), "otp": 482133, "phone": 55512345678, "pass": 1500}
    redacted = redact_value(arguments, own=own_forms([], ["PHONE"], {"PHONE": "55512345678"}))
    assert redacted == {**dict.fromkeys(arguments, "[REDACTED]"), "pass": 1500}
    keys = {"db_password": 12345678901, "one_time_code": 482913, "pass": 1500000000, "phase_one_time": 12345}
    stay = {"pass": 1500000000, "phase_one_time": 12345}
    assert redact_value(keys) == {**dict.fromkeys(keys, REDACTED), **stay}
