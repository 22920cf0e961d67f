"""Lines in pasted text that a person wrote into it."""

from amplifier_module_context_persistent.compaction.pasted_lines import cut_with_lines, standing_out
from amplifier_module_context_persistent.messages.elide import elide_message

LOG = "\n".join(f"{n:5d}\tdef handler_{n}(self, token: Token) -> None:" for n in range(60))
ORDER = "ORDER: do not change the schema under any circumstances."
PASTED = LOG.replace("   30\t", f"{ORDER}\n   30\t")


def found(text: str) -> list[str]:
    return [text[first:last] for first, last in standing_out(text)]


def test_a_sentence_among_lines_of_a_machine_stands_out() -> None:
    """It begins otherwise than they do, and reads as a sentence."""
    assert found(PASTED) == [ORDER]
    assert found(LOG) == []


def test_a_rule_among_numbered_sentences_stands_out() -> None:
    """All of them are prose; only one begins in another way."""
    lines = [f"Requirement {n}: the parser of the queue must answer within {n} ms." for n in range(60)]
    rule = "RULE: never touch the vendored files, they are signed."
    assert found("\n".join([*lines[:30], rule, *lines[30:]])) == [rule]


def test_short_texts_have_no_such_lines() -> None:
    """There is nothing to stand out from."""
    assert found("Please do this one thing for me.\nAnd this one as well.") == []


def test_a_cut_keeps_them_in_their_order() -> None:
    """Between head and tail, after the marker that says how the rest is had."""
    message = {"role": "user", "content": PASTED, "metadata": {"message_id": "m0"}}
    cut = cut_with_lines(message, 480)
    text = elide_message(message, cut, reference="m0")["content"]
    lines = text.split("\n")
    assert ORDER in lines
    assert lines.index(ORDER) == next(at for at, line in enumerate(lines) if line == "[… recall m0]") + 1
    assert len(text) < 900
