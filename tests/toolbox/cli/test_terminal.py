"""Printing: what comes from a log never acts on the terminal."""

from amplifier_module_context_persistent.toolbox.cli.terminal import counted, escaped, escaped_body, one_line


def test_one_line_holds_no_control_character() -> None:
    """Each becomes a question mark."""
    assert one_line("a\x1b[31m\nb\x07\u202eü") == "a?[31m?b??ü"


def test_text_is_escaped_and_keeps_its_lines() -> None:
    """What prints stays as it is; the rest is shown as JSON would show it."""
    assert escaped("a ü\n\x1b[0m") == "a ü\n\\u001b[0m"
    assert escaped("\u202e") == "\\u202e"
    assert escaped_body("a\tb") == "a       b"


def test_numbers_are_counted_in_words() -> None:
    """One of it, or more."""
    assert [counted(number, "message") for number in (0, 1, 1_234)] == ["0 messages", "1 message", "1,234 messages"]
    assert [counted(number, "entry") for number in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
