"""Which images and documents a page of `recall` gives back."""

import pytest

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.search import recall_media
from amplifier_module_context_persistent.search.recall_media import with_media
from amplifier_module_context_persistent.search.recall_page import RecallPage, RecallQuery
from tests.support.pictures import screenshot

IMAGES = [screenshot(number, size_bytes=300) for number in range(3)]
MESSAGE = {"role": "user", "content": [{"type": "text", "text": "Look."}, *IMAGES]}
PAGE = RecallPage("the page", "m1")


def test_the_first_page_comes_with_all_that_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says how the others are had."""
    page = with_media(PAGE, MESSAGE, RecallQuery(reference="m1"))
    assert page.media == tuple(IMAGES)
    assert page.output == "the page\n[with this page: image 1 of 3 to image 3 of 3 of m1]"
    monkeypatch.setattr(recall_media, "MOST_CHARS", 500)
    page = with_media(PAGE, MESSAGE, RecallQuery(reference="m1"))
    assert page.media == (IMAGES[0],)
    assert page.output.endswith("[for the others: recall reference=m1 image=2, up to 3]")


def test_one_image_is_given_by_its_number_whatever_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """On any page."""
    monkeypatch.setattr(recall_media, "MOST_CHARS", 1)
    assert with_media(PAGE, MESSAGE, RecallQuery(reference="m1", image=3, offset=4)).media == (IMAGES[2],)


def test_later_pages_come_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """So do those of messages that have no images."""
    assert with_media(PAGE, MESSAGE, RecallQuery(reference="m1", offset=4)) == PAGE
    assert with_media(PAGE, {"role": "user", "content": "Look."}, RecallQuery(reference="m1")) == PAGE


@pytest.mark.parametrize(
    ("message", "told"), [(MESSAGE, "it has 3"), ({"role": "user", "content": "x"}, "it has none")]
)
def test_an_image_that_is_not_there_is_an_error(message: dict[str, object], told: str) -> None:
    """It says how many there are."""
    with pytest.raises(RecallError, match=told):
        with_media(PAGE, message, RecallQuery(reference="m1", image=4))
