"""The typed arguments of the managers are the keys of the configuration."""

from __future__ import annotations

from typing import Literal, get_args, get_origin, get_type_hints

from amplifier_module_context_persistent.config import Config, Options


def test_the_typed_keys_are_those_of_the_table() -> None:
    """Each key but `transcript_path`, which the managers take by position, with the type that the table gives it."""
    declared = get_type_hints(Config)
    del declared["transcript_path"], declared["configured"]
    assert get_type_hints(Options) == declared


def test_what_an_editor_offers_is_what_the_table_allows() -> None:
    """Each choice that a key's type lists is allowed, and the documentation of the key names it."""
    options, choices = Config.options(), 0
    for key, declared in get_type_hints(Options).items():
        if get_origin(declared) is Literal:
            choices += 1
            allowed = options[key].metadata["allowed"]
            assert allowed == ", ".join(f"`{choice}`" for choice in get_args(declared))
            assert all(options[key].metadata["check"](choice) for choice in get_args(declared))
    assert choices >= 6
