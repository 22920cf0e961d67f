"""A value beside its name, and the rules by which it is a secret."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .evident_values import is_evident, is_noise
from .foreign_names import is_label
from .names import (
    UUID,
    Likelihood,
    is_code_or_path,
    is_example,
    is_mixed,
    is_placeholder,
    is_template,
    is_word_of,
    likelihood_of,
    looks_random,
    names_number,
    names_password,
    names_service,
)
from .secret_values import is_chosen_word, is_count, is_name_of_entry, is_permission, is_phrase, is_state

STARTS_LINE = re.compile(r"(?:^|[\n;]|\\n)[ \t]*(?:-[ ]+|export[ ]+|set[ ]+|ENV[ ]+|//\S*:)?\Z")

_LEAST_DIGITS = 6
"""The least number of digits of a quoted number that counts as a password beside a name for passwords."""
_TWO_WORDS = re.compile(r"[A-Za-z](?:[_.-]|(?<=[a-z])(?=[A-Z]))[A-Za-z]")
"""A name that says whose secret it is: `client_secret`, `authToken`. A UUID beside a plain `secret` may be its id."""
_OPENS_CALL = re.compile(r"\(\\*.\Z|\(\s?\\*[\"'`][^\"'`\n()]{0,30}[\#.=\[]\Z", re.DOTALL)
_SETS = re.compile(r"\.?(?:set|with|use|add)_?(?=[A-Z]|(?<=_))|\.", re.ASCII)
"""The beginning of a call that sets a value: `setToken(`, `with_token(`."""
_POINTER = re.compile("0x[0-9a-f]{1,16}")
_SIGN_IN_WORD = re.compile(r"[A-Za-z]{2,40}[!#^&*~@+]+[A-Za-z]{2,40}[!]?|(?=[a-z]*[A-Z])[A-Za-z]{6,40}!")
_SENTENCE = re.compile(r"(?:[A-Za-z][A-Za-z'-]{0,40}[.,:;!?)]{0,5}\s+){2,}|\s[a-z]+\s")


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value beside a name, with the text around the value."""

    text: str
    name: str
    start: int
    end: int
    is_quoted: bool
    before: str
    """The last few characters before the name."""
    separator: str
    after: str
    """The character after the value."""
    ends_line: bool

    @property
    def is_literal(self) -> bool:
        """Whether no variable is possible here: a quoted key, a shell, a query, a flag, a header or an XML element."""
        if self.separator.lstrip("\\")[:1] in ('"', "'"):
            return self.is_quoted
        if self.is_set_verbatim or self.before.endswith("--"):
            return True
        if self.separator.isspace():  # -password x
            return is_mixed(self.text)
        return ":" in self.separator and "-" in self.name and not (self.is_quoted or self.name.endswith("-pass"))

    @property
    def is_set_verbatim(self) -> bool:
        """Whether the value is set in a shell (`NAME=value`), in the query of a URL, or in an XML element."""
        if self.separator == ">":
            return self.after == "<"
        if self.separator != "=":
            return False
        if self.before.endswith("-D"):
            return True  # a Java property: -Dpassword=x
        return (
            self.before[-1:] in ("?", "&", "=")
            or self.after == "&"
            or (self.name.isupper() and self.before[-1:] in ("", *" \n\t\"'n"))
        )

    @property
    def is_setting(self) -> bool:
        """Whether the line has only a name, `:` or `=`, and the value, as in a configuration file."""
        is_first = STARTS_LINE.search(self.before) is not None
        return is_first and self.ends_line and not self.is_quoted and self.separator in (":", ": ", "=", " = ")

    @property
    def is_complete(self) -> bool:
        """Whether the value ends here: the value of a setting, or one of several `name=value` on a log's line."""
        if self.is_setting:
            return True
        after, separator = self.after, self.separator
        is_in_quotes = self.before[-1:] in ("'", '"') and after == self.before[-1]
        is_in_list = after == "," and separator == "=" and "." in self.name
        is_closed = after in ("]", "'", '"') and separator == "="
        is_in_brackets = after == ")" and self.before[-1:] == "("
        is_at_end = not after or after.isspace() or is_in_quotes or is_in_list or is_closed or is_in_brackets
        if not is_at_end:
            return False
        sign = separator.strip()
        is_assigned = sign in ("=", ":") and separator[0] != " "
        return is_assigned or sign in ("?=", ":=")


def is_secret_value(value: NamedValue, likelihood: Likelihood) -> bool:
    """Return whether a value is a secret, given the likelihood from its name.

    The first rule that applies decides: first the rules for values that are surely a secret or surely none, then the
    rules for the way in which the value follows its name.
    """
    text = value.text
    if value.is_quoted and likelihood is Likelihood.STRONG and is_noise(text):
        return True
    if _says_nothing(value):
        return False
    may_be_phrase = value.is_quoted or value.is_complete or value.before.endswith("--")
    if names_password(value.name) and is_phrase(text) and may_be_phrase:
        return True
    if value.is_quoted and _SENTENCE.search(text) and not value.is_set_verbatim:
        return False  # a message to a person: `password: "Please enter it."`
    if not value.is_quoted and value.after in ("(", "[", "{") and not value.is_set_verbatim:
        return False  # a call or an index of a program: `token = read(...)`
    if names_service(value.name) and (UUID.fullmatch(text) or looks_random(text)) and not _is_path(text):
        return True
    if UUID.fullmatch(text):
        is_token = value.is_set_verbatim and value.name.endswith(("TOKEN", "PAT"))
        is_key = likelihood is Likelihood.STRONG and value.is_setting and _TWO_WORDS.search(value.name)
        if is_token or is_key:
            return True
    if likelihood is Likelihood.WEAK:
        return _is_secret_of_weak_name(value)
    if value.name == "PASS" and value.separator.startswith(":") and ("/" in text or text.lower().startswith("test")):
        return False  # a test that passed
    if text.replace("_", "").replace("-", "").isalpha() and likelihood_of(text[:60]) is not Likelihood.NONE:
        return False  # the value repeats its name
    return _is_secret_after(value.separator, value)


def _is_secret_after(separator: str, value: NamedValue) -> bool:
    """Return whether a value is a secret behind a name that often has one, by the characters between name and value."""
    text = value.text
    if " is" in separator:  # a sentence: `the password is x9-k2a`
        return len(text) >= 6 and is_mixed(text)
    if "," in separator or separator == "(":
        return _is_secret_argument(value)
    if value.is_set_verbatim:
        return not _is_path(text)
    if separator == ">":  # the content of a tag
        return False
    is_number_of_json = text.isdigit() and not value.is_quoted and separator.lstrip("\\")[:1] in ('"', "'")
    if is_number_of_json:
        return len(text) >= _LEAST_DIGITS and names_number(value.name, text)
    if value.is_literal:
        return value.is_quoted or is_mixed(text) or not is_code_or_path(text) or _is_lower_word(text)
    if value.is_quoted:
        return _is_quoted_secret(value)
    if not is_code_or_path(text):
        return is_mixed(text) or (len(text) >= 8 and not text.replace(".", "").isidentifier())
    is_secret_line = value.name.lower() == "secret" and separator == "=" and value.is_setting
    if (names_password(value.name) or is_secret_line) and value.is_complete and is_chosen_word(text):
        return True
    may_be_variable = separator == " = " and not is_mixed(text)  # as in a program
    return value.is_setting and "_" not in text and not may_be_variable and _is_password(value)


def _is_secret_of_weak_name(value: NamedValue) -> bool:
    """Return whether a value is a secret although its name is seldom that of a secret."""
    text = value.text
    if value.separator not in (">", "(") and looks_random(text):
        return True
    if value.separator == "(" and _SETS.match(value.name) and is_evident(text, value.name):
        return True
    return value.is_literal and len(text) >= 8 and is_mixed(text) and not is_code_or_path(text)


def _is_secret_argument(value: NamedValue) -> bool:
    """Return whether a value is a secret that a call or a command gets behind its name: `login("password", "x9-k")`."""
    text = value.text
    if " " in text or len(text) < 6:
        return False
    if value.separator == "(":
        return is_mixed(text) or (names_password(value.name) and _has_sign(text))
    is_argument = _OPENS_CALL.search(value.before) is not None or value.before.endswith("--")
    return is_argument and is_mixed(text)


def _says_nothing(value: NamedValue) -> bool:
    """Return whether a value is never a secret: a placeholder, template, example, state, count, or word of its name."""
    text, name = value.text, value.name
    if not text.strip() or _POINTER.fullmatch(text) is not None:
        return True
    if is_placeholder(text) or is_template(text) or is_state(text):
        return True
    if is_name_of_entry(text, name) or is_label(text, name) or is_permission(name, text):
        return True
    if is_example(text) or is_word_of(text, name):
        return True
    return name.lower().endswith("pass") and is_count(text)


def _is_quoted_secret(value: NamedValue) -> bool:
    """Return whether a quoted value in program text is a secret: not short, not several words, not an ordinary word."""
    text = value.text
    if text.isdigit():
        return len(text) >= _LEAST_DIGITS and names_password(value.name)
    if len(text) < 4 or " " in text:
        return False
    letters = text.replace("_", "").replace("-", "").replace(".", "").replace(":", "")
    is_ordinary_word = letters.isalpha() and not is_mixed(text)
    return not is_ordinary_word or _is_password(value)


def _has_sign(text: str) -> bool:
    """Return whether a word has a sign that words of programs and of languages do not have."""
    return _SIGN_IN_WORD.fullmatch(text) is not None


def _is_password(value: NamedValue) -> bool:
    """Return whether a word may be a password that a person chose."""
    name = value.name.lower()
    is_named_so = "pass" in name or "pwd" in name
    return is_named_so and _is_lower_word(value.text)


def _is_lower_word(text: str) -> bool:
    return len(text) >= 6 and text.islower() and text.isalnum()


def _is_path(text: str) -> bool:
    return "/" in text and is_code_or_path(text)
