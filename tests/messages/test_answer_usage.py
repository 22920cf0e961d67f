"""What a provider reported of the request that a message answered."""

from typing import Any

from amplifier_module_context_persistent.messages.answer_usage import usage_of_message

PROSE = "The importer reads each line once, and remembers where its parent stood. " * 20  # some 280 tokens


def answer(content: Any, output_tokens: int, model: str = "m") -> dict[str, Any]:
    usage = {"input_tokens": 1_000, "output_tokens": output_tokens}
    return {"role": "assistant", "content": content, "metadata": {"model": model, "usage": usage}}


def test_the_figures_are_those_of_the_report() -> None:
    """Also an output that is small for its answer: totals are those that anybody can add up from the file."""
    usage = usage_of_message(answer(PROSE, 1))
    assert usage is not None
    assert (usage.output, usage.input_tokens) == (1, 1_000)


def test_what_the_program_said_itself_is_no_request() -> None:
    """No model was asked for an answer of `<synthetic>`, whatever usage it names."""
    assert usage_of_message(answer("API Error: overloaded", 0, "<synthetic>")) is None
