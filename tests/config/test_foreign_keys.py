"""Keys of other modules and spellings, brought into ours."""

from typing import Any

import pytest

from amplifier_module_context_persistent.config.foreign_keys import in_our_keys, nearest_key
from amplifier_module_context_persistent.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"compaction_threshold": 0.5}, {"compact_threshold": 0.5}),
        ({"compaction_threshold": 0.5, "compact_threshold": 0.7}, {"compact_threshold": 0.7}),
        ({"persistence": {"path": "a", "durability": "write"}}, {"storage_path": "a", "durability": "write"}),
        ({"persistence": {"durability": "write"}, "durability": "fsync"}, {"durability": "fsync"}),
        ({"path": "a"}, {"path": "a"}),
        ({"persistence": None}, {}),
    ],
)
def test_aliases_and_the_nested_table_are_resolved(given: dict[str, Any], ours: dict[str, Any]) -> None:
    """The plain key wins; `path` means a place only inside `persistence`. What was given is not changed."""
    before = dict(given)
    assert in_our_keys(given) == ours
    assert given == before


def test_a_nested_table_is_a_table() -> None:
    """Anything else is an error of the configuration."""
    with pytest.raises(ConfigError, match="persistence"):
        in_our_keys({"persistence": "yes"})


def test_an_unknown_key_is_told_with_its_nearest() -> None:
    """If one is near."""
    assert nearest_key("max_token", {"max_tokens": 1}) == "; did you mean 'max_tokens'?"
    assert nearest_key("zzz", {"max_tokens": 1}) == ""
