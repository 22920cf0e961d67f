"""Where a project's search index lies, and that it can be removed."""

from __future__ import annotations

from pathlib import Path

from amplifier_module_context_persistent.log.search_index import INDEX_NAME, remove_search_index, search_index_of


def test_only_the_hosts_sessions_have_one(tmp_path: Path) -> None:
    """It lies in the project's directory; a log elsewhere has none."""
    assert search_index_of(tmp_path / "p" / "sessions" / "a" / "log.jsonl") == tmp_path / "p" / INDEX_NAME
    assert search_index_of(tmp_path / "p" / "a" / "log.jsonl") is None
    remove_search_index(tmp_path / "p" / "a" / "log.jsonl")


def test_it_is_removed_with_what_was_left_of_writing_it(tmp_path: Path) -> None:
    """And nothing else; it is no error if there is none."""
    for name in (INDEX_NAME, f"{INDEX_NAME}.ab12cd34.part", "other"):
        (tmp_path / name).touch()
    for _ in range(2):
        remove_search_index(tmp_path / "sessions" / "a" / "log.jsonl")
        assert [path.name for path in tmp_path.iterdir()] == ["other"]
