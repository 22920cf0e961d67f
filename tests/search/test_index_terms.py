"""The terms of texts and questions: words, names whole and in parts, and scripts that do not part their words."""

import unicodedata

import pytest

from amplifier_module_context_persistent.search.index_terms import MOST_WORD_CHARS, asked_words, terms_of


@pytest.mark.parametrize("name", ["flush_all", "flushAll", "FlushAll", "flush_All", "FLUSH_ALL"])
def test_a_name_gives_its_parts_and_the_whole(name: str) -> None:
    """However it is written."""
    assert set(terms_of(f"call {name}()")) == {"call", "flush", "all", "flushal"}


def test_paths_and_codes() -> None:
    """The parts of a path, and error codes as they are."""
    found = terms_of("src/log_file/reader.py:12 E0308 ENOENT 0x80070005 HTTPServer")
    assert {
        "src",
        "log",
        "file",
        "logfil",
        "reader",
        "py",
        "12",
        "e0308",
        "enoent",
        "0x80070005",
        "http",
        "server",
        "httpserver",
    } <= set(found)


def test_composed_and_decomposed_texts_have_the_same_terms() -> None:
    """NFC and NFD, and any case."""
    text = "Größe CAFÉ naïve 한국어"
    assert terms_of(unicodedata.normalize("NFD", text)) == terms_of(text)
    assert set(terms_of("CAFÉ")) == set(terms_of("café"))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("東京都", {"東京", "京都"}),
        ("ไทย", {"ไท", "ทย"}),
        ("한국어", {"한국", "국어"}),
        ("検", {"検"}),
        ("a検索b", {"a", "検索", "b"}),
    ],
)
def test_scripts_that_do_not_part_words_give_pairs(text: str, terms: set[str]) -> None:
    """Each two neighbouring characters."""
    assert set(terms_of(text)) == terms


def test_marks_belong_to_their_words() -> None:
    """Vowel signs of Hindi do not part a word."""
    assert set(terms_of("हिन्दी भाषा")) == {"हिन्दी", "भाषा"}


def test_counts_and_data() -> None:
    """How often, and nothing of what is too long to be a word."""
    assert terms_of("tests test tested " + "a" * (MOST_WORD_CHARS + 1)) == {"test": 3}


def test_the_words_of_a_question_keep_their_order() -> None:
    """As they are written, each with its terms."""
    assert asked_words("Why flushAll fails?") == [
        ("Why", ("why",)),
        ("flushAll", ("flush", "all", "flushal")),
        ("fails", ("fail",)),
    ]
