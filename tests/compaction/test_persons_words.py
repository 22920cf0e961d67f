"""A person's message, taken apart into prose and into bodies that were pasted into it, in any script."""

import pytest

from amplifier_module_context_persistent.compaction.persons_words import (
    Line,
    bodies,
    bodies_cuts,
    divided,
    kind_of,
    prominent_lines,
    prose_chars,
    told_lines,
    words_cut,
)
from amplifier_module_context_persistent.messages.elide import elide_message

LOG = "\n".join(f"{n:5d}\tdef handler_{n}(self, token: Token) -> None:" for n in range(60))
ORDERS = [
    "ORDER: do not change the schema under any circumstances.",
    "请不要删除数据库里的任何记录，这一点非常重要。",  # noqa: RUF001 - Chinese punctuation
    "データベースの記録は絶対に削除しないでください。",
    "อย่าแก้ไขโครงสร้างฐานข้อมูลไม่ว่ากรณีใดก็ตาม",
    "Никогда не меняйте схему базы данных без моего согласия.",
]


def shown(text: str, body_chars: int = 240) -> str:
    message = {"role": "user", "content": text, "metadata": {"message_id": "m0"}}
    return str(
        elide_message(message, bodies_cuts(message, divided(message), [body_chars])[0], reference="m0")["content"]
    )


@pytest.mark.parametrize("order", ORDERS)
def test_a_sentence_between_pasted_lines_is_prose(order: str) -> None:
    """It stays whole, and of the body on each side the beginning and the end."""
    text = f"{LOG}\n{order}\n{LOG}"
    assert [text[start:end] for start, end in bodies(text)] == [LOG, LOG]
    assert order in shown(text).split("\n")
    assert len(shown(text)) < len(text) / 4


def test_a_fenced_block_is_a_body_whatever_it_says() -> None:
    """A person marked it as such."""
    block = "\n".join(["Here is a plain sentence of words."] * 12)
    text = f"Please look at this.\n```\n{block}\n```\nWhat do you think of it?"
    assert [text[start:end] for start, end in bodies(text)] == [block]
    assert shown(text).startswith("Please look at this.\n```\n")
    assert shown(text).endswith("\n```\nWhat do you think of it?")


def test_a_short_body_and_a_list_of_rules_are_words() -> None:
    """Nothing of them is cut: the first is too short to be worth it, and the second is what a person wants."""
    rules = "\n".join(f"{n}. Never touch the table `part_{n}` without a word from me first." for n in range(40))
    assert bodies(rules) == []
    assert bodies("Look:\n" + "\n".join(LOG.split("\n")[:5])) == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Please keep the old name of the function.", Line.PROSE),
        ("2026-01-02 10:11:12 INFO worker started and waits for jobs", Line.MACHINE),
        ("  at com.example.Main.run(Main.java:17)", Line.MACHINE),
        ("x = compute(3); y = 4", Line.MACHINE),
        ("Thanks!", Line.EITHER),
        ("谢谢你。", Line.EITHER),
        ("", Line.EITHER),
    ],
)
def test_lines_are_told_by_their_words(line: str, kind: Line) -> None:
    """In no language."""
    assert kind_of(line) is kind


def test_prose_is_counted_without_bodies() -> None:
    """So that a long log does not push out what people said."""
    assert prose_chars(divided({"role": "user", "content": f"Why?\n{LOG}\nThank you very much for your help."})) == 40


@pytest.mark.parametrize("order", ORDERS)
def test_of_prose_that_is_too_long_what_stands_out_stays(order: str) -> None:
    """A rule among numbered sentences begins in another way than they do."""
    lines = [f"Requirement {n}: the parser of the queue must answer within {n} ms." for n in range(60)]
    text = "\n".join([*lines[:30], order, *lines[30:]])
    assert [text[first:last] for first, last in prominent_lines(text)] == [order]
    message = {"role": "user", "content": text}
    cut = elide_message(message, words_cut(told_lines(message), 480), reference="m0")["content"]
    assert order in cut.split("\n")
    assert cut.startswith(lines[0])
    assert cut.endswith(lines[-1])
    assert len(cut) < 1_000


@pytest.mark.parametrize(("times", "stand_out"), [(3, True), (4, False)])
def test_what_several_lines_begin_with_stands_out_as_long_as_they_are_few(times: int, stand_out: bool) -> None:
    """Three of a hundred lines, not four."""
    lines = [f"Requirement {n}: the parser of the queue must answer within {n} ms." for n in range(105 - times)]
    rules = [f"Never change the {what} of the published interface." for what in ("names", "order", "types", "units")]
    found = prominent_lines("\n".join([*lines, *rules[:times]]))
    assert len(found) == (times if stand_out else 0)


def test_short_texts_have_nothing_that_stands_out() -> None:
    """There is nothing to stand out from."""
    assert prominent_lines("Please do this one thing for me.\nAnd this one as well.") == []
