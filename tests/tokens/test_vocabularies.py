"""Vocabularies: which is used, where it is looked for, and what happens without one."""

from __future__ import annotations

import base64
import gzip
import hashlib
import logging
import os
import threading
from pathlib import Path

import pytest

from amplifier_module_context_persistent.tokens import vocabularies as vocabulary
from amplifier_module_context_persistent.tokens.counter import ENCODINGS, open_counter


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a vocabulary, where a download would be noticed."""

    def refuse(*_: object) -> None:
        raise AssertionError("tiktoken's loader was called")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(vocabulary.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr("tiktoken.get_encoding", refuse)
    monkeypatch.setattr("tiktoken.load.read_file", refuse)
    return tmp_path


class TestOpenCounter:
    def test_auto_without_a_vocabulary_is_the_estimate(
        self, bare_machine: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Where no vocabulary is at hand, `auto` estimates, says nothing and asks no network."""
        assert open_counter("auto", allow_network=True).name == "estimate"
        assert open_counter("estimate").name == "estimate"
        assert caplog.records == []

    @pytest.mark.parametrize("name", ENCODINGS)
    def test_a_missing_vocabulary_is_told_once(
        self, bare_machine: Path, caplog: pytest.LogCaptureFixture, name: str
    ) -> None:
        """An encoding asked for by name and not at hand gives the estimate and one warning that names it."""
        with caplog.at_level(logging.WARNING):
            assert open_counter(name).name == "estimate"
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert name in caplog.text

    @pytest.mark.parametrize("name", ["", "o200k", "AUTO", "gpt-4o", "none"])
    def test_unknown_names_are_refused(self, name: str) -> None:
        """A name that is not known raises an error which says what is allowed."""
        with pytest.raises(ValueError, match="auto, estimate, o200k_base"):
            open_counter(name)

    def test_a_wrong_vocabulary_is_not_used(self, bare_machine: Path) -> None:
        """A file in tiktoken's place with other bytes than the published ones is neither used nor removed."""
        path = Path(vocabulary.cache_path(vocabulary.VOCABULARIES["o200k_base"]))
        assert path.parent == bare_machine
        path.write_bytes(b"aGVsbG8= 0\n")
        assert open_counter("auto").name == "estimate"
        assert path.read_bytes() == b"aGVsbG8= 0\n"

    def test_a_published_vocabulary_is_used(self, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file whose SHA-256 is the published one is counted with, plain in the cache and packed in the package."""
        content = b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256))
        known = vocabulary.Vocabulary("o200k_base", hashlib.sha256(content).hexdigest(), r".+")
        monkeypatch.setattr(vocabulary, "VOCABULARIES", {"o200k_base": known})
        data = bare_machine / "bpe_openai" / "data"
        data.mkdir(parents=True)
        (data / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(content))
        spec = type("Spec", (), {"submodule_search_locations": [str(data.parent)]})
        monkeypatch.setattr(vocabulary.importlib.util, "find_spec", lambda _: spec)
        assert open_counter("auto").name == "o200k_base"
        monkeypatch.setattr(vocabulary.importlib.util, "find_spec", lambda _: None)
        assert open_counter("auto").name == "estimate"
        Path(vocabulary.cache_path(known)).write_bytes(content)
        counter = open_counter("o200k_base")
        assert (counter.name, counter.count_text("<|endoftext|>")) == ("o200k_base", 13)

    def test_the_cache_is_where_tiktoken_has_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The directory is that of the first variable that is set; an empty one switches the cache off."""
        known = vocabulary.VOCABULARIES["o200k_base"]
        key = "fb374d419588a4632f3f557e76b4b70aebbca790"
        monkeypatch.setenv("DATA_GYM_CACHE_DIR", "/gym")
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/cache")
        assert vocabulary.cache_path(known) == os.path.join("/cache", key)
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
        assert vocabulary.cache_path(known) == os.path.join("/gym", key)
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
        assert vocabulary.cache_path(known) == ""

    def test_a_download_that_hangs_is_left_behind(self, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the network allowed, a download has its time and no more."""
        hangs, ended = threading.Event(), list[bool]()
        monkeypatch.setattr("tiktoken.get_encoding", lambda _: ended.append(hangs.wait(60)))
        assert open_counter("o200k_base", allow_network=True, timeout_s=0.05).name == "estimate"
        assert ended == []
        hangs.set()

    def test_a_download_that_fails_is_survived(self, bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the network allowed and broken, the estimate counts."""

        def fail(_: str) -> None:
            raise ConnectionError("no route")

        monkeypatch.setattr("tiktoken.get_encoding", fail)
        assert open_counter("cl100k_base", allow_network=True).name == "estimate"
