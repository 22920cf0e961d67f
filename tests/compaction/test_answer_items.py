"""A model's answer that is too long: its beginning, its end and the items of its lists stay, in any script."""

import pytest

from amplifier_module_context_persistent.compaction.answer_items import ITEM_CHARS, answer_cut
from amplifier_module_context_persistent.messages.elide import elide_message

WORDS = "and these words say at length how the thing was found in the code of the project, and by whom "
CHINESE = "其余的话说明这一问题是怎样在代码中被发现的，又是怎样被解决的，这里不再重复。"  # noqa: RUF001 - Chinese punctuation


def shown(text: str, keep_chars: int = 480) -> str:
    message = {"role": "assistant", "content": text, "metadata": {"message_id": "m0"}}
    return str(elide_message(message, answer_cut(message, keep_chars), reference="m0")["content"])


@pytest.mark.parametrize(
    ("mark", "words"),
    [("- ", WORDS), ("1. ", WORDS), ("| ", WORDS), ("**Bug**: ", WORDS), ("（1）", CHINESE)],  # noqa: RUF001
    ids=["bullets", "numbers", "rows", "bold", "chinese"],
)
def test_each_item_keeps_its_beginning(mark: str, words: str) -> None:
    """The items are shortened to one length before one is left out, and a mark says that they go on."""
    items = [f"{mark}item_{number} {words * 8}" for number in range(3)]
    text = f"{words * 16}\n\n" + "\n".join(items) + f"\n\n{words * 4}\n\nShall I go on?"
    lines = shown(text, 720).split("\n")
    for item in items:
        (beginning,) = [line for line in lines if line.startswith(item[: len(mark) + 6])]
        assert beginning.endswith(" …")
        assert item.startswith(beginning[:-2])
        assert len(beginning) <= max(ITEM_CHARS) + 2
    assert lines[-1] == "Shall I go on?"


def test_items_of_inner_lists_go_first() -> None:
    """What was done in each file tells more than the tenth detail of the first."""
    items = [f"{number}. file_{number} was changed\n" + f"   - {WORDS}\n" * 6 for number in range(4)]
    text = f"{WORDS * 4}\n\n{''.join(items)}\n{WORDS * 4}"
    assert all(f"file_{number} was changed" in shown(text) for number in range(4))
    assert f"   - {WORDS}" not in shown(text)


def test_lines_of_code_are_no_items() -> None:
    """A dash or a bar in a code block is part of a program; nor is the rule below the head of a table an item."""
    code = "```\n" + "\n".join(f"- name: step_{number} {WORDS}" for number in range(9)) + "\n```"
    text = f"{WORDS * 4}\n\n{code}\n\n|------|------|\n\n{WORDS * 4}"
    assert "step_4" not in shown(text)
    assert "|--" not in shown(text)


def test_without_items_the_ends_have_more_room() -> None:
    """Most of what is asked for is shown of an answer that is prose alone."""
    text = "\n\n".join(f"Paragraph {number}. {WORDS}" for number in range(40))
    assert len(shown(text, 1_000)) >= 830
    assert shown(text, 1_000).startswith("Paragraph 0.")
    assert shown(text, 1_000).endswith(f"Paragraph 39. {WORDS}")
