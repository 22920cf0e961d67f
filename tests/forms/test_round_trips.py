"""What is read of a foreign form is written again as it was."""

import base64
import copy
from typing import Any

import pytest

from amplifier_module_context_persistent.forms.any_form_to_canonical import read_given
from amplifier_module_context_persistent.forms.recognise import FORMS
from tests.support.foreign_messages import BY_FORM, Message


def plain(value: Any) -> Any:
    """A value with bytes in base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("form", BY_FORM)
def test_each_message_is_written_as_it_was_read(form: str) -> None:
    """Key for key, and nothing that was given is altered."""
    given = copy.deepcopy(BY_FORM[form])
    written = FORMS[form].write(FORMS[form].read(given), exact=True)
    assert plain(written) == BY_FORM[form]
    assert given == BY_FORM[form]


@pytest.mark.parametrize("form", BY_FORM)
def test_a_form_is_recognised_by_its_shape(form: str) -> None:
    """Reading without a name gives the same messages; Amplifier's own form passes."""
    named = FORMS[form].read(BY_FORM[form])
    found = read_given(BY_FORM[form])
    assert [without_mark(message) for message in found] == [without_mark(message) for message in named]


def without_mark(message: Message) -> Message:
    """A message without its metadata."""
    return {key: value for key, value in message.items() if key != "metadata"}
