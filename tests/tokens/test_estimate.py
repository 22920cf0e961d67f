"""The estimate: how near it is, that it is pure, and its network."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.tokens import estimate, rare_characters
from amplifier_module_context_persistent.tokens.estimate import Network, estimate_tokens
from amplifier_module_context_persistent.tokens.rare_characters import without_rare
from tests.support.counters import exact_counter
from tests.support.sweeps import some
from tests.support.texts import PROSE, PYTHON, SHORT, TEXTS, digest

RARE = {
    "Chinese, all characters": (0x4E00, 0x9FFF, 5784),
    "Chinese, extension A": (0x3400, 0x4DBF, 2820),
    "Chinese, extension B": (0x20000, 0x2A6DF, 24186),
    "Ethiopic": (0x1200, 0x1357, 100),
    "Cherokee": (0x13A0, 0x13F4, 39),
    "Mongolian": (0x1820, 0x1877, 39),
    "Yi": (0xA000, 0xA48C, 501),
    "cuneiform": (0x12000, 0x12399, 528),
}
"""First and last character of a kind, and the count of `rare_text` by o200k_base."""


class TestEstimate:
    @pytest.mark.parametrize("kind", TEXTS)
    def test_is_within_a_tenth_of_the_true_count(self, kind: str) -> None:
        """The estimate of each class is at most 10 % off the recorded count of o200k_base."""
        text, true = TEXTS[kind]
        assert estimate_tokens(text) == pytest.approx(true, rel=0.1)

    @pytest.mark.parametrize("text", SHORT)
    def test_is_sensible_for_short_texts(self, text: str) -> None:
        """A few words are neither nothing nor more than three tokens off."""
        assert abs(estimate_tokens(text) - SHORT[text]) <= 3
        assert estimate_tokens(text) >= 1

    @pytest.mark.parametrize("kind", RARE)
    def test_rare_characters_are_not_taken_for_common_ones(self, kind: str) -> None:
        """A view of them that is counted too small is refused by the provider."""
        text, true = rare_text(kind)
        assert estimate_tokens(text) == pytest.approx(true, rel=0.1)

    def test_bytes_that_were_read_as_latin_1_are_not_taken_for_text(self) -> None:
        """A tool that prints a binary file does that; the recorded count is that of o200k_base."""
        text = random.Random(3).randbytes(6_000).decode("latin-1")
        assert estimate_tokens(text) == pytest.approx(6371, rel=0.1)

    def test_recorded_counts_of_rare_characters_are_true(self) -> None:
        """They are those of the vocabulary itself."""
        counter = exact_counter()
        assert all(counter.count_text(text) == true for text, true in map(rare_text, RARE))

    def test_recorded_counts_are_true(self) -> None:
        """The counts that the tests compare with are those of the vocabulary itself."""
        counter = exact_counter()
        assert {text: counter.count_text(text) for text in SHORT} == SHORT
        assert {kind: counter.count_text(text) for kind, (text, _) in TEXTS.items()} == {
            kind: true for kind, (_, true) in TEXTS.items()
        }

    def test_nothing_costs_nothing(self) -> None:
        """The empty text is 0 tokens, any other at least 1."""
        assert estimate_tokens("") == 0
        assert all(estimate_tokens(text) >= 1 for text in (" ", "\n", "a", "\ud800", "\x00", "é", "字"))

    @given(st.text(st.characters(), max_size=400))
    def test_every_text_has_a_cost(self, text: str) -> None:
        """Any text, lone surrogates too, costs at least nothing and at most three tokens a byte."""
        assert (text != "") <= estimate_tokens(text) <= 3 * len(text.encode("utf-8", "surrogatepass"))

    @given(st.lists(st.sampled_from([text for text, _ in TEXTS.values()]), min_size=2, max_size=6))
    @settings(max_examples=some(60), deadline=None)
    def test_parts_add_up(self, parts: list[str]) -> None:
        """The estimate of a text is that of its parts, but for a token at each seam."""
        parts = [part[:4000] for part in parts]
        whole = estimate_tokens("\n".join(parts))
        assert whole == pytest.approx(sum(map(estimate_tokens, parts)), abs=2 * len(parts))

    @pytest.mark.parametrize("sign", ["é", "{}", "=", "\t", " ", "\n", "a", "x", "0", "测", "🙂", "\x00"])
    def test_a_run_of_one_sign_is_not_taken_for_nothing(self, sign: str) -> None:
        """A token for sixteen characters at the least: what is counted as too little overflows."""
        for count in (8_000, 400_000):
            assert count // 16 <= estimate_tokens((sign * count)[:count]) <= 3 * count

    def test_a_sample_stands_for_a_long_text(self) -> None:
        """A text too long to be read whole is within 5 % of what its parts come to."""
        blocks = [text for text, _ in TEXTS.values()] * 30
        text = "\n".join(blocks)
        assert len(text) > 300_000
        whole = sum(estimate_tokens(text[at : at + 30_000]) for at in range(0, len(text), 30_000))
        assert estimate_tokens(text) == pytest.approx(whole, rel=0.05)

    def test_a_longer_text_costs_more(self) -> None:
        """Growing a text by a tenth never makes it cheaper, across the border of sampling too."""
        text = PROSE * 400
        counts = [estimate_tokens(text[: int(2_000 * 1.1**n)]) for n in range(55)]
        assert int(2_000 * 1.1**54) > estimate.WHOLE_CHARS
        assert counts == sorted(counts)

    def test_is_the_same_in_another_process(self) -> None:
        """Another process, with another hash seed, counts the same."""
        code = (
            "import sys; from amplifier_module_context_persistent.tokens.estimate import estimate_tokens;"
            "print(estimate_tokens(sys.stdin.buffer.read().decode()))"
        )
        text = "\n".join(text for text, _ in TEXTS.values()) * 5
        run = subprocess.run(
            [sys.executable, "-c", code],
            input=text.encode(),
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "7"},
        )
        assert int(run.stdout) == estimate_tokens(text)

    def test_does_not_depend_on_what_was_counted_before(self) -> None:
        """What was counted before changes no count."""
        before = [estimate_tokens(text) for text, _ in TEXTS.values()]
        for n in range(300):
            estimate_tokens(f"{digest(str(n), 256)} qx{n:x}zw Qy{n:x}Wz")
        assert [estimate_tokens(text) for text, _ in TEXTS.values()] == before

    @pytest.mark.parametrize(("chars", "looked_at"), [(2_000, 2_000), (estimate.WHOLE_CHARS, estimate.WHOLE_CHARS)])
    def test_each_byte_is_looked_at_once(self, monkeypatch: pytest.MonkeyPatch, chars: int, looked_at: int) -> None:
        """By the other network only beside what is not ASCII; a longer text is sampled, however long it is."""
        sizes: list[int] = []
        cost = Network.cost
        monkeypatch.setattr(Network, "cost", lambda network, text: sizes.append(len(text)) or cost(network, text))
        estimate_tokens((PYTHON * (1 + chars // len(PYTHON)))[:chars])
        assert sum(sizes) == looked_at
        sizes.clear()
        estimate_tokens((PYTHON * 90)[:4_000] + "…" + (PYTHON * 90)[:4_000])
        assert sum(sizes) <= 8_001 + 20
        sizes.clear()
        estimate_tokens(PYTHON * 3_000)
        assert sum(sizes) == estimate.WHOLE_CHARS

    @given(st.lists(st.sampled_from([*(text for text, _ in TEXTS.values()), "\U0010ffff", "\ud800", "\x00", "é"])))
    @settings(max_examples=some(40), deadline=None)
    def test_a_block_costs_what_its_bytes_cost_one_by_one(self, parts: list[str]) -> None:
        """A block through the layers at once costs what looking every byte up costs, one after the other."""
        encoded = "".join(part[:200] for part in parts).encode("utf-8", "surrogatepass")
        for network in (estimate.ASCII, estimate.OTHER):
            assert network.cost(encoded) == sum(hundredths_at(network, encoded, at) for at in range(len(encoded)))

    @given(st.text(st.sampled_from("ab \n(é字\U0001f680\ud800"), max_size=60))
    def test_few_characters_beyond_ascii_cost_the_same_alone(self, text: str) -> None:
        """Only they and what the network sees beside them are looked at, where they are few among much ASCII."""
        beside = "plain words " * 300
        sent = (beside + text + beside).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        encoded = sent.encode()  # half a surrogate pair is sent, and counted, as U+FFFD
        alone = estimate_tokens(beside + text + beside)
        ascii_cost = estimate.ASCII.cost(bytes(byte for byte in encoded if not 0x80 <= byte < 0xC0))
        assert alone == max(1, (ascii_cost + estimate.OTHER.cost(encoded) + 50) // 100)

    @given(st.text(st.sampled_from("ab \n…é字\u1200\u3400\ua000\U0001f680\x85"), max_size=60))
    def test_rare_characters_cost_the_same_one_by_one(self, text: str) -> None:
        """Whether a text has any or none of them, each costs what it costs alone."""
        alone = [without_rare(character) for character in text]
        assert without_rare(text) == ("".join(rest for rest, _ in alone), sum(cost for _, cost in alone))

    def test_the_longest_block(self) -> None:
        """A full block of the characters with the most bytes costs as much as its parts, but for their seams."""
        block = "\U0001f680" * estimate.BLOCK_CHARS
        parts = [estimate.OTHER.cost(block[at : at + 1024].encode()) for at in range(0, len(block), 1024)]
        assert estimate.OTHER.cost(block.encode()) == pytest.approx(sum(parts), abs=300 * len(parts))

    def test_the_sum_is_exact(self) -> None:
        """The costs of a block are summed exactly, the dearest and the cheapest too."""
        as_it_is = bytes(range(256))
        network = Network(layers=((as_it_is, 0),), hundredths=as_it_is, before=0, after=0)
        for numbers in (b"", b"\x00" * 1000, b"\x64" * 1000, bytes(range(101)) * 11 + b"\x01"):
            assert network.cost(numbers) == sum(numbers)
        assert max(estimate.ASCII.hundredths + estimate.OTHER.hundredths) <= 100

    def test_ascii_costs_the_same_beside_other_characters(self) -> None:
        """One character of another script adds what it costs, and no more for the ASCII around it."""
        assert estimate.OTHER.hundredths[0] == 0
        assert estimate.OTHER.cost(PROSE.encode()) == 0
        assert 0 <= estimate_tokens(PROSE + "字") - estimate_tokens(PROSE) <= 3


def rare_text(kind: str) -> tuple[str, int]:
    """Every seventh character of a kind, none beside its neighbour, and the recorded count."""
    first, last, true = RARE[kind]
    chars = [chr(code) for code in range(first, last + 1, 7)]
    return "".join(chars[::3] + chars[1::3] + chars[2::3]), true


def hundredths_at(network: Network, text: bytes, at: int) -> int:
    if network.asked and not network.asked[text[at]]:
        return 0

    def read(layer: int, place: int) -> int:
        if layer == 0:
            return text[place] if 0 <= place < len(text) else ord("\n")
        table, distance = network.layers[layer - 1]
        return table[read(layer - 1, place)] & 0xF0 | table[read(layer - 1, place + distance)] & 0x0F

    return network.hundredths[read(len(network.layers), at - network.before)]


def test_common_signs_need_no_table_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the characters of two tokens takes 12 ms to make; it is made for texts that may have one."""
    every = "".join(chr(code) for code in range(0x10FFFF) if not 0xD800 <= code < 0xE000)
    found = set("".join(rare_characters.two_tokens().findall(every)))
    assert found < set(rare_characters.NEAR_TWO.findall(every))
    monkeypatch.setattr(rare_characters, "two_tokens", lambda: pytest.fail("the table was made"))
    assert estimate_tokens("naïve → … ✓ Ж") > 0
