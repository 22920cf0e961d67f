"""The configuration: every key's allowed and refused values, aliases, and what is said of unknown keys."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from amplifier_module_context_persistent.config import Config, Options, checks
from amplifier_module_context_persistent.config.foreign_keys import ELSEWHERE, WITHOUT_MEANING, in_our_keys
from amplifier_module_context_persistent.config.unknown_keys import told_unknown
from amplifier_module_context_persistent.errors import ConfigError
from tests.support.sweeps import proof

PATHS = (["a", "~/a/{session_id}", Path("a"), None], ["", 3, ["a"], True])
FLAGS = ([True, False], [1, 0, "true", "no"])
SHARES = ([0.01, 0.5, 1, 1.0], [0, -0.1, 1.1, "0.5", True, float("nan")])
SHARES_OR_ZERO = ([0, 0.0, 0.5, 1], [-0.1, 1.1, "0.5", False, float("nan")])
COUNTS = ([0, 7], [-1, 1.5, "7", True])

VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "transcript_path": PATHS,
    "storage_path": PATHS,
    "memory_files": ([[], ["a", Path("b")], ("a",)], ["a", [None], [""], [3], {"a": 1}]),
    "archive_after_days": ([None, 1, 90], [0, -1, 1.5, "90", True]),
    "durability": (["fsync", "write"], ["sync", True, ["fsync"], ""]),
    "lock_timeout_s": ([0.1, 5], [0, -1, "5", True, float("nan"), float("inf")]),
    "max_record_bytes": ([1024, 1 << 30], [1023, 0, 2048.0, "2048"]),
    "redact_on_write": FLAGS,
    "require_persistence": FLAGS,
    "auto_save": FLAGS,
    "receipts": FLAGS,
    "restore_system_prompt": FLAGS,
    "tokenizer": (["auto", "estimate", "o200k_base"], ["", 3, True, "no_such_encoding"]),
    "token_meter": (["actual", "estimate"], ["exact", "", True]),
    "max_tokens": ([1, 10**7], [0, -1, 1000.0, "1000", True]),
    "max_request_bytes": ([100_000, 50_000_000], [0, 99_999, 1e6, "20 MB", True]),
    "max_images": ([0, 90], [-1, 1.0, "1", True]),
    "max_messages": ([None, 2, 500], [1, 0, 2.0, "2", True]),
    "compact_threshold": SHARES,
    "target_usage": ([0.01, 0.9], [0, 0.92, 1, -1, "0.5", True]),
    "cache_ttl_s": ([None, 0, 0.5, 3600], [-1, "300", True, float("nan"), float("inf")]),
    "compact_min_gain": SHARES_OR_ZERO,
    "compaction_strategy": (
        ["truncate", "summarize", "sliding_window", "importance"],
        ["compress", "", 3, ["truncate"]],
    ),
    "keep_recent": COUNTS,
    "summary_prompt": ([None, "Sum it up."], ["", " ", 3]),
    "summary_max_tokens": ([100, 4000], [99, 0, 2000.0, "2000", True]),
    "summary_timeout_s": ([0.1, 5], [0, -1, "5", True, float("nan"), float("inf")]),
    "native_start": ([0.5, 1.0], [0, -0.5, 1.5, "x"]),
    "native_max_tokens": ([100, 4_096], [99, 1.5, "x", True]),
    "native_timeout_s": ([0.1, 5], [0, -1, "5", True, float("nan"), float("inf")]),
    "protected_recent": SHARES_OR_ZERO,
    "protected_tool_results": COUNTS,
    "protect_first": COUNTS,
    "protect_last": COUNTS,
    "preserve_system": FLAGS,
    "storage": (
        [None, "postgresql://h/db", "postgres://h/db", "service=x", "memory"],
        ["", "/path", "mysql://h/db", "memory://", ["memory"], 3, True],
    ),
    "project": ([None, "app", "-home-u-app", "a.b"], ["", ".", "a/b", "a\\b", "..", "a\0", 3]),
    "late_system": (["auto", "system", "reminder"], ["user", "", True]),
    "keep_ephemerals": FLAGS,
    "recipient": (
        [None, "anthropic", "anthropic/claude-opus-5-5", "bedrock/us.anthropic.claude-x"],
        ["", " ", 3, True],
    ),
    "truncate_chars": COUNTS,
    "truncate_boundary": (["line", "char"], ["word", "", 3]),
    "offload_threshold": ([None, 1, 10**6], [0, -1, 2.0, "2", True]),
    "preview_tokens": COUNTS,
    "tool_kinds": (
        [None, {}, {"look": "read:target", "sh2": "run"}],
        ["read", ["read"], {"look": "reads"}, {3: "read"}],
    ),
    "compaction_notice_enabled": FLAGS,
    "compaction_notice_verbosity": (["minimal", "normal", "verbose"], ["loud", "", 3]),
    "compaction_notice_min_level": COUNTS,
    "compaction_notice_token_reserve": COUNTS,
    "recall": FLAGS,
    "pin": FLAGS,
    "output_reserve_fraction": SHARES_OR_ZERO,
}


def test_every_key_is_in_the_table() -> None:
    """A key that is added needs its values here."""
    assert VALUES.keys() == Config.options().keys()


@proof(quick=1)
@pytest.mark.parametrize(("key", "value"), [(key, value) for key, (good, _) in VALUES.items() for value in good])
def test_allowed_values(key: str, value: Any) -> None:
    """They are taken as they are, lists as tuples."""
    given = {key: value, "target_usage": 0.001} if key == "compact_threshold" else {key: value}
    config = Config.load(given)
    assert getattr(config, key) == (tuple(value) if isinstance(value, list) else value)


@proof(quick=1)
@pytest.mark.parametrize(("key", "value"), [(key, value) for key, (_, bad) in VALUES.items() for value in bad])
def test_refused_values(key: str, value: Any) -> None:
    """The error names the key, the value, and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        Config.load({key: value})
    text = str(caught.value)
    shown = "this value" if key == "storage" else repr(value)  # a location may hold a password
    assert text.startswith(f"{key}: {shown} is not allowed; allowed: ")
    assert len(text.partition("allowed: ")[2]) > 3


def test_the_defaults() -> None:
    """Nothing configured is nothing capped."""
    config = Config.load()
    assert config == Config.load({}) == Config.load(None)
    assert (config.max_tokens, config.compact_threshold, config.target_usage) == (200_000, 0.92, 0.5)
    assert config.configured == frozenset()


@pytest.mark.parametrize("key", [key for key, option in Config.options().items() if option.default is not None])
def test_a_key_without_a_value_is_its_default(key: str) -> None:
    """As `key:` in YAML."""
    assert Config.load({key: None}) == Config.load()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"compaction_threshold": 0.7}, {"compact_threshold": 0.7}),
        ({"compaction_threshold": 0.7, "compact_threshold": 0.8}, {"compact_threshold": 0.8}),
        ({"compact_threshold": 0.8, "compaction_threshold": 0.7}, {"compact_threshold": 0.8}),
        ({"persistence": {"path": "logs"}}, {"storage_path": "logs"}),
        ({"persistence": {"storage_path": "logs", "durability": "write"}}, {"storage_path": "logs"}),
        ({"persistence": {"path": "logs"}, "storage_path": "mine"}, {"storage_path": "mine"}),
        ({"persistence": None}, {"storage_path": None}),
        ({"persistence": {"compaction_threshold": 0.7}}, {"compact_threshold": 0.7}),
        ({"compact_threshold": 0.4}, {"target_usage": 0.55 * 0.4}),
        ({"compact_threshold": 1}, {"target_usage": 0.5}),
        ({"compact_threshold": 0.5, "target_usage": 0.4}, {"target_usage": 0.4}),
    ],
)
def test_aliases_and_what_follows_from_other_keys(
    given: dict[str, Any], expected: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Older names are accepted without a warning, the plain key wins, and the target lies below the threshold."""
    config = Config.load(given)
    assert {key: getattr(config, key) for key in expected} == expected
    assert not caplog.records


@pytest.mark.parametrize("nested", ["logs", 3, ["path"]])
def test_persistence_is_an_object(nested: Any) -> None:
    """Anything else is an error."""
    with pytest.raises(ConfigError, match=r"^persistence: .* is not allowed; allowed: an object"):
        Config.load({"persistence": nested})


@pytest.mark.parametrize("given", [{"target_usage": 0.5}, {"target_usage": 0.6}])
def test_the_target_lies_below_the_threshold(given: dict[str, Any]) -> None:
    """The error names the threshold that is configured."""
    with pytest.raises(ConfigError, match=r"target_usage: .* below compact_threshold \(0.5\)"):
        Config.load({"compact_threshold": 0.5, **given})


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("max_token", "max_tokens"),
        ("compact_treshold", "compact_threshold"),
        ("compaction_treshold", "compaction_threshold"),
        ("persistance", "persistence"),
        ("memory_file", "memory_files"),
        ("configured", None),
        ("path", None),
        ("zzz", None),
        (3, None),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(
    key: Any, near: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """In Python it is an error; in a mount plan, into which bundles are merged, a warning, and it is ignored."""
    hint = f"; did you mean {near!r}?" if near is not None else ""
    with pytest.raises(ConfigError) as refused:
        Config.load({key: 1})
    assert str(refused.value).startswith(f"unknown configuration key {key!r}")
    assert str(refused.value).endswith(hint)
    with caplog.at_level(logging.WARNING):
        assert Config.load({key: 1}, composed=True) == Config.load()
    (record,) = caplog.records
    text = record.getMessage()
    assert text.startswith(f"unknown configuration key {key!r} is ignored")
    assert text.endswith(hint)


def test_switching_saving_off_warns(caplog: pytest.LogCaptureFixture) -> None:
    """Every message is saved all the same."""
    assert Config.load({"auto_save": False}).auto_save is False
    assert "auto_save: false has no effect" in caplog.text


def test_what_was_configured_is_known() -> None:
    """Under the keys' own names."""
    config = Config.load(
        {"max_tokens": 5, "compaction_threshold": 0.5, "truncate_chars": None, "zzz": 1}, composed=True
    )
    assert config.configured == {"max_tokens", "compact_threshold"}
    assert Config.load({"target_usage": 0.4}).configured == {"target_usage"}
    assert Config.load({"target_usage": None}).configured == frozenset()


@pytest.mark.parametrize("key", sorted(WITHOUT_MEANING))
def test_keys_of_other_modules_are_accepted_in_silence(key: str, caplog: pytest.LogCaptureFixture) -> None:
    """A composed mount plan brings them along."""
    assert Config.load({key: True}) == Config.load()
    assert not caplog.records


def test_keys_that_are_done_elsewhere_are_told_in_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever comes from another module reads what does the same here."""
    assert Config.load(dict.fromkeys(ELSEWHERE, 1)) == Config.load()
    (record,) = caplog.records
    assert all(f"{key} (here: {instead})" in record.message for key, instead in ELSEWHERE.items())


@pytest.mark.parametrize("key", sorted(ELSEWHERE))
def test_the_reason_for_a_key_is_understood_without_its_neighbours(key: str, caplog: pytest.LogCaptureFixture) -> None:
    """A mount plan often has one of the keys only, so a reason does not point to the reason of another key."""
    Config.load({key: 1})
    (record,) = caplog.records
    reason = record.message.partition("(here: ")[2]
    assert not re.search(r"\b(likewise|the same|see above|as for)\b", reason)
    assert len(reason.split()) > 1 or "`" in reason


@pytest.mark.parametrize(("name", "ours"), [("progressive", "truncate"), ("summary", "summarize")])
def test_strategies_of_other_modules_have_a_name_here(name: str, ours: str) -> None:
    """They are mapped to the nearest of ours."""
    assert Config.load({"compaction_strategy": name}).compaction_strategy == ours


def test_managers_share_a_configuration_and_may_change_keys_of_it(tmp_path: Path) -> None:
    """What was given goes on as given: what else depends on it, as whether a budget is a cap, is the same."""
    config = Config.load({"compaction_threshold": 0.8, "memory_files": [], "max_tokens_fallback": 9_000})
    one = PersistentContextManager(tmp_path / "one.jsonl", config=config)
    other = PersistentContextManager(tmp_path / "other.jsonl", config=config, compact_threshold=0.9)
    assert one.config == Config.load({**config.given(), "transcript_path": tmp_path / "one.jsonl"})
    assert (one.config.compact_threshold, one.config.max_tokens) == (0.8, 9_000)
    assert one.config.target_usage == pytest.approx(0.44)
    assert "max_tokens" not in one.config.configured
    assert other.config.compact_threshold == 0.9
    assert other.config.target_usage == pytest.approx(0.495)
    assert InMemoryContextManager(config=config).config == config
    with pytest.raises(ConfigError, match="unknown configuration key 'max_token'; did you mean 'max_tokens'"):
        PersistentContextManager(config=config, max_token=1)


def test_a_fallback_budget_is_no_cap() -> None:
    """It counts where no provider gives a window; a configured `max_tokens` wins."""
    config = Config.load({"max_tokens_fallback": 9_000})
    assert (config.max_tokens, "max_tokens" in config.configured) == (9_000, False)
    assert Config.load({"max_tokens_fallback": 9_000, "max_tokens": 5}).max_tokens == 5
    with pytest.raises(ConfigError, match=r"^max_tokens_fallback: 'many' is not allowed"):
        Config.load({"max_tokens_fallback": "many"})


def test_a_password_in_a_location_is_not_shown() -> None:
    """Neither the representation of a configuration nor an error has it."""
    secret = "hunter" + "2"
    config = Config.load({"storage": f"postgresql://u:{secret}@h/db"})
    assert secret in str(config.storage)
    assert secret not in repr(config)
    with pytest.raises(ConfigError, match="storage") as refused:
        Config.load({"storage": f"mysql://u:{secret}@h/db"})
    assert secret not in str(refused.value)


@pytest.mark.parametrize(
    ("check", "allowed", "refused"),
    [
        (checks.is_int, [0, -3], [True, 1.0, "1", None]),
        (checks.is_number, [0, 1.5], [True, "1", None]),
        (checks.path, [None, "a", Path("a")], ["", 3, b"a"]),
        (checks.share, [0.1, 1], [0, 1.1, True, "0.5"]),
        (checks.share_or_zero, [0, 1], [-0.1, 1.1, True]),
        (checks.flag, [True, False], [0, "true", None]),
        (checks.kinds_of_tools, [None, {"a": "read:target", "b": "run"}], [[], {"a": "fly"}, {1: "read"}, {"a": 2}]),
        (checks.one_of("a", "b"), ["a", "b"], ["c", None]),
        (checks.at_least(2), [2, 9], [1, 2.0, True]),
    ],
)
def test_values(check: checks.Check, allowed: list[object], refused: list[object]) -> None:
    """Each check takes what it names and nothing else."""
    assert [value for value in allowed if not check(value)] == []
    assert [value for value in refused if check(value)] == []


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
    near = told_unknown("max_token", ["max_tokens"], is_ignored=False)
    assert near == "unknown configuration key 'max_token'; did you mean 'max_tokens'?"
    assert told_unknown("zzz", ["max_tokens"], is_ignored=True) == "unknown configuration key 'zzz' is ignored"


@pytest.mark.parametrize("key", ["transcript_path", "storage_path"])
def test_the_address_of_a_database_is_no_path(key: str) -> None:
    """It made a file whose name began with it; the error does not repeat a password in it."""
    with pytest.raises(ConfigError, match="storage") as refused:
        Config.load({key: "postgresql://me:hunter2@host/db#p/s"})
    assert "hunter2" not in str(refused.value)
