"""Usage that a source reports: what is counted, predicted and written."""

from amplifier_module_context_persistent.log.record import decode
from amplifier_module_context_persistent.messages.usage import usage_of_record
from amplifier_module_context_persistent.tokens.calibration import Calibration
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.transfer.drafts import ContextSize


def test_counts_are_near_those_of_single_messages() -> None:
    """Texts are counted together; calls, names and images count as well."""
    call = {"id": "c", "tool": "read", "arguments": {"path": "src/main.py"}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA" * 300}}
    messages = [
        {"role": "user", "content": "Read the file, please, and tell what it is about. " * 20},
        {"role": "assistant", "content": [{"type": "text", "text": "Reading it now."}], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "def main():\n    return 1\n" * 50},
        {"role": "user", "content": [{"type": "text", "text": "and this"}, image]},
    ]
    size, counter = ContextSize(), EstimateCounter()
    for message in messages:
        size.add(message)
    expected = sum(count_message(message, counter) for message in messages)
    assert abs(size.counted_tokens - expected) <= 0.05 * expected


def test_the_first_and_the_last_report_teach_the_first_prediction() -> None:
    """The overhead and the ratio of the whole session; the record is no request, and nothing was predicted in it."""
    size = ContextSize()
    for number in range(1, 6):
        size.add({"role": "user", "content": "word " * 10_000})
        read = 15_000 * (number - 1)
        size.report({"input_tokens": read, "cache_read_tokens": read, "cache_write_tokens": 15_000 + 4_000}, "p", "m")
    size.report({"output_tokens": 5}, "p", "m")
    assert size.reports == 5
    (body,) = size.records()
    record = decode(body + b"}")
    learned = Calibration.from_record(record["state"])
    counted = size.counted_tokens
    assert abs(learned.predict(2 * counted, continues=True) / (2 * 75_000 + 4_000) - 1) < 0.1
    assert abs(learned.predict(counted // 5, continues=False) / 19_000 - 1) < 0.1
    assert usage_of_record(record) is None
    assert "predicted_tokens" not in record


def test_what_a_compaction_left_is_counted_from_there() -> None:
    """Before the next message the model sees so much."""
    size = ContextSize()
    size.add({"role": "user", "content": "word " * 1_000})
    size.reset(100)
    size.add({"role": "user", "content": "go on"})
    assert 100 < size.counted_tokens < 110
