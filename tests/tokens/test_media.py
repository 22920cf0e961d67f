"""Tests of what media cost: header dimensions, and the providers' size rules."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.tokens import media


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + bytes(200)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(50)


def jpeg(width: int, height: int, before: int = 0, frame: int = 0xC0) -> bytes:
    """A JPEG head with so many 60,000-byte application segments before its frame header."""
    segments = b"\xff\xe1" + struct.pack(">H", 60_000) + b"\xff" * 59_998
    table = b"\xff\xc4" + struct.pack(">H", 5) + bytes(3)
    start = b"\xff\xff" + bytes([frame]) + struct.pack(">HBHHB", 17, 8, height, width, 3)
    return b"\xff\xd8" + segments * before + table + start + bytes(64)


def webp(kind: bytes, width: int, height: int) -> bytes:
    head = b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", 10)
    if kind == b"VP8X":
        return head + bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    if kind == b"VP8L":
        return head + b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + bytes(8)
    return head + bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height) + bytes(8)


def wav(seconds: float, rate: int = 16_000, *, open_end: bool = False) -> bytes:
    size = int(seconds * rate * 2)
    chunk = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    extra = b"LIST" + struct.pack("<I", 3) + bytes(4)  # an odd length is padded
    body = b"WAVE" + chunk + extra + b"data" + struct.pack("<I", 0xFFFFFFFF if open_end else size) + bytes(size)
    return b"RIFF" + struct.pack("<I", 0xFFFFFFFF if open_end else len(body)) + body


def text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


IMAGES = {
    "png": png(1280, 720),
    "gif": gif(1280, 720),
    "jpeg": jpeg(1280, 720),
    "progressive jpeg": jpeg(1280, 720, frame=0xC2),
    "webp lossy": webp(b"VP8 ", 1280, 720),
    "webp lossless": webp(b"VP8L", 1280, 720),
    "webp extended": webp(b"VP8X", 1280, 720),
}


@pytest.mark.parametrize("kind", IMAGES)
def test_dimensions_are_read_from_the_header(kind: str) -> None:
    """Each format's header tells width and height, in this order."""
    assert media.image_size(IMAGES[kind]) == (1280, 720)


@pytest.mark.parametrize("kind", IMAGES)
def test_a_header_that_is_cut_off_tells_nothing(kind: str) -> None:
    """Any shorter head gives the dimensions or nothing, never a wrong answer nor an error."""
    whole = IMAGES[kind]
    answers = [media.image_size(whole[:length]) for length in range(len(whole))]
    assert set(answers) <= {None, (1280, 720)}
    assert answers[9] is None


@given(st.binary(max_size=80), st.sampled_from([b"", *(raw[:12] for raw in IMAGES.values())]))
def test_no_bytes_make_it_raise(tail: bytes, head: bytes) -> None:
    """Damaged headers have unknown dimensions, and a price."""
    raw = head + tail
    size = media.image_size(raw)
    assert size is None or min(size) > 0
    assert media.image_tokens(text(raw)) > 0
    assert media.pdf_tokens(text(raw)) > 0
    assert media.audio_tokens(text(raw)) > 0


@given(st.text(max_size=60), st.sampled_from(["", "data:", "data:image/png;base64,"]))
def test_no_text_makes_it_raise(data: str, prefix: str) -> None:
    """What is not base64 at all has a price too."""
    for family in ("image", "document", "audio", "video"):
        assert media.medium_tokens(family, "", prefix + data) > 0


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((200, 200), 255),  # one tile of OpenAI's, 54 by Anthropic's rule
        ((1000, 1000), 1334),  # Anthropic's own example
        ((1092, 1092), 1590),  # likewise
        ((1280, 720), 1229),
        ((1024, 1024), 1399),
        ((2048, 4096), 1600),
        ((10_000, 100), 765),  # OpenAI: 2048 x 20, four tiles
        ((1, 1), 255),
    ],
)
def test_the_dearer_rule_counts(size: tuple[int, int], tokens: int) -> None:
    """An image costs the larger of Anthropic's and OpenAI's published rules."""
    assert media.size_tokens(*size) == tokens


@pytest.mark.parametrize(("size", "tokens"), [((1024, 1024), 765), ((2048, 4096), 1105), ((512, 512), 255)])
def test_openai_examples(size: tuple[int, int], tokens: int) -> None:
    """The examples that OpenAI publishes come out as published."""
    assert media.openai_tokens(*size) == tokens


@given(st.integers(1, 40_000), st.integers(1, 40_000))
def test_an_image_is_never_dear(width: int, height: int) -> None:
    """No dimensions cost less than a tile or more than the maximum."""
    assert 255 <= media.size_tokens(width, height) <= 1600


def test_base64_length_does_not_count() -> None:
    """A large file costs what its dimensions say, after a `data:` prefix, in lines and URL-safe too."""
    raw = png(800, 600) + bytes(3_000_000)
    plain = text(raw)
    lines = "\n".join(plain[at : at + 76] for at in range(0, 20_000, 76))
    shapes = [plain, "data:image/png;base64," + plain, lines, base64.urlsafe_b64encode(raw).decode(), plain[:5001]]
    assert {media.image_tokens(shape) for shape in shapes} == {media.size_tokens(800, 600)}


def test_both_alphabets_of_base64_are_read() -> None:
    """The first bytes are the same from the standard and the URL-safe alphabet, with or without padding."""
    raw = b"\xfb\xef\xbe\xff" * 5
    for shape in (base64.b64encode(raw), base64.urlsafe_b64encode(raw), base64.b64encode(raw).rstrip(b"=")):
        assert media.decode_head(shape.decode(), 100) == raw
        assert media.decode_head(shape.decode(), 7) == raw[:7]


def test_a_frame_header_behind_large_segments_is_found() -> None:
    """A JPEG whose dimensions stand after a few hundred kilobytes of metadata is measured all the same."""
    assert media.image_tokens(text(jpeg(640, 480, before=5))) == media.size_tokens(640, 480)
    assert media.image_tokens(text(jpeg(640, 480, before=40))) == media.IMAGE_DEFAULT_TOKENS


def test_unknown_images_have_the_default() -> None:
    """Addresses, unknown formats and images without a size cost the default."""
    assert {
        media.image_tokens(data) for data in (None, "", text(b"BM" + bytes(60)), text(png(0, 5)), "no base64!")
    } == {1600}


PAGES = b"%PDF-1.7\n<< /Type /Pages /Count 3 >>" + b"<< /Type /Page /Parent 1 0 R >>" * 2 + b"<</Type/Page>>"


@pytest.mark.parametrize(
    ("data", "pages"),
    [(text(PAGES), 3), (text(b"%PDF-1.7" + bytes(300_000)), 6), (None, 1)],
    ids=["pages", "size", "none"],
)
def test_pages_of_a_pdf(data: str | None, pages: int) -> None:
    """Pages are counted, the page tree is not; without visible pages the size decides."""
    assert media.pdf_tokens(data) == pages * media.PDF_PAGE_TOKENS


@pytest.mark.parametrize(
    ("data", "kind", "seconds"),
    [
        (text(wav(10)), "audio/wav", 10),
        (text(wav(10, open_end=True)), "audio/wav", 10),
        (text(bytes(80_000)), "mp3", 10),
        (text(bytes(480_000)), "pcm16", 10),
        (None, "", 60),
    ],
    ids=["wav", "open end", "mp3", "pcm", "none"],
)
def test_seconds_of_audio(data: str | None, kind: str, seconds: int) -> None:
    """A WAV header tells the seconds, with an open end too; other audio is taken by its size and format."""
    assert media.audio_tokens(data, kind) == pytest.approx(32 * seconds, abs=1)


@pytest.mark.parametrize(
    ("kind", "data", "tokens"),
    [
        ("image/png", text(png(800, 600)), media.size_tokens(800, 600)),
        ("text/csv", text(b"a,b\n" * 1000), 1000),
        ("application/zip", text(bytes(500_000)), 500),
    ],
    ids=["image", "text", "other"],
)
def test_the_media_type_decides(kind: str, data: str, tokens: int) -> None:
    """A file that names another family is priced as that family."""
    assert media.medium_tokens("document", kind, data) == tokens


def test_the_pages_of_a_long_pdf_are_those_of_its_beginning_in_proportion() -> None:
    """Only its first bytes are looked at."""
    looked_at = 4 << 20
    pages = b"/Type /Page\n" * 6
    assert media.pdf_pages(text(pages + bytes(2 * looked_at - len(pages)))) == 12


def test_what_the_streams_of_a_pdf_unpack_to_is_bounded() -> None:
    """A few kilobytes may be gigabytes: beyond the bound no stream is looked into."""
    large = zlib.compress(b"/Type /Page\n" + bytes(4 << 20))
    small = zlib.compress(b"/Type /Page\n" * 50)
    streams = [b"<< /Type /ObjStm >> stream\n" + packed + b"\nendstream\n" for packed in (large, small)]
    assert media.pdf_pages(text(b"".join(streams))) == 1


@pytest.mark.parametrize(("size", "tokens"), [(4, 1), (5, 2), (8, 2), (9, 3)])
def test_a_document_of_text_costs_a_token_for_each_four_bytes_begun(size: int, tokens: int) -> None:
    assert media.medium_tokens("document", "text/plain", text(b"x" * size)) == tokens


def test_a_file_of_another_kind_with_the_same_first_bytes_is_no_image() -> None:
    """Sounds and films are in RIFF files, too."""
    assert media.type_of_image(text(webp(b"VP8X", 10, 10))) == "image/webp"
    assert media.type_of_image(text(wav(1.0))) == ""


@pytest.mark.parametrize(("pages", "counted"), [(150, 150), (999, 999), (1200, 1000)])
def test_a_long_pdf_counts_with_its_pages_up_to_a_thousand(pages: int, counted: int) -> None:
    """Providers take no more of one document."""
    document = text(b"%PDF-1.7\n" + b"<</Type/Page>>" * pages)
    assert media.pdf_tokens(document) == counted * media.PDF_PAGE_TOKENS
