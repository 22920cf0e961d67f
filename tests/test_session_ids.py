"""Names of directories for ids of other programs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.filesystem import is_name
from amplifier_module_context_persistent.session_ids import directory_name, id_of

IDS = st.text(st.characters(exclude_categories=[]), max_size=60) | st.text("aA.~%-/", max_size=8)


@given(IDS)
def test_a_name_is_safe_and_gives_its_id_back(session_id: str) -> None:
    """It is one part of a path on any file system, and a short one can be read back."""
    name = directory_name(session_id)
    assert is_name(name)
    assert name == name.encode("ascii").decode()
    assert not name.endswith((".", " "))
    assert id_of(name) in (session_id, None)
    assert directory_name(session_id) == name


@given(IDS, IDS)
def test_two_ids_have_two_names(one: str, other: str) -> None:
    """Whatever case a file system distinguishes."""
    assert (directory_name(one).casefold() == directory_name(other).casefold()) == (one == other)


def test_usual_ids_stay_as_they_are() -> None:
    """A person finds a session by its id."""
    for session_id in ("3f2b8c9e-1d2a-4b5c-8d7e-9f0a1b2c3d4e", "chat_17", "user.42"):
        assert directory_name(session_id) == session_id
    assert directory_name("Team A") == "%54eam%20%41"
    assert id_of(directory_name("y" * 300)) is None


@pytest.mark.parametrize("wrong", [None, 17, b"user-17"])
def test_an_id_that_is_no_text_is_refused_with_a_word(wrong: object) -> None:
    with pytest.raises(TypeError, match=f"a session's id must be a text, not {type(wrong).__name__}"):
        directory_name(wrong)  # type: ignore[arg-type]
