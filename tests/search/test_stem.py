"""Stems: one for all forms of an English word, and other words are left alone."""

import pytest

from amplifier_module_context_persistent.search.stem import stem


@pytest.mark.parametrize(
    "forms",
    [
        "run runs running ran",
        "commit commits committed committing",
        "argue argued argues arguing",
        "relate relates related",
        "pony ponies",
        "index indexes indices",
        "status statuses",
        "virus viruses",
        "class classes",
        "process processes",
        "address addresses addressing",
        "go goes went gone going",
        "write writes wrote written writing",
        "child children",
        "hopefulness hopeful hope hopes hoped",
        "generalize generalized generalizing generalization",
        "colour color colours coloured colors",
        "misbehaviour misbehavior",
        "initialise initialised initialising initialize initialized",
        "serialiser serialisation serializer serialization",
        "analyse analysed analyze analyzed",
        "catalogue catalogues catalog catalogs",
        "grey gray greys grays",
        "centre centres center centers",
        "cancelled canceled cancelling",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    """Regular and irregular ones."""
    assert len({stem(form) for form in forms.split()}) == 1


def test_different_words_keep_different_stems() -> None:
    """Words that only begin alike."""
    words = "hop hope happy universe cache commit communion test text lie lay bus busy use"
    assert len({stem(word) for word in words.split()}) == words.count(" ") + 1


@pytest.mark.parametrize("word", ["status", "corpus", "basis", "class", "cats"])
def test_only_an_s_of_a_plural_is_taken(word: str) -> None:
    assert stem(word) == word.replace("cats", "cat")


@pytest.mark.parametrize("word", ["e0308", "größe", "übung", "flush_all", "東京", "ab", "x" * 40])
def test_what_is_no_english_word_is_its_own_stem(word: str) -> None:
    """Names, codes, and words of other languages."""
    assert stem(word) == word


def test_porters_examples() -> None:
    """Words of the paper, with their stems."""
    pairs = (
        "caresses caress;ties ti;cats cat;agreed agre;plastered plaster;motoring motor;sized size;hissing hiss;"
        "conditional condit;vietnamization vietnam;operator oper;triplicate triplic;electrical electr;revival reviv;"
        "adjustable adjust;adoption adopt;probate probat;controll control;sky sky;syzygy syzygi;yield yield"
    )
    for pair in pairs.split(";"):
        word, expected = pair.split()
        assert stem(word) == expected, word
