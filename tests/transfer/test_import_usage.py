"""Usage that a source reports: what is counted, predicted and written."""

from amplifier_module_context_persistent.log.record import decode
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.transfer.import_usage import ReportedUsage


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
    usage, counter = ReportedUsage(), EstimateCounter()
    for message in messages:
        usage.add(message)
    expected = sum(count_message(message, counter) for message in messages)
    assert abs(usage.counted_tokens - expected) <= 0.05 * expected


def test_a_report_teaches_the_next_prediction() -> None:
    """As in a session: the overhead and the ratio of the first report make the second one nearly right."""
    usage = ReportedUsage()
    usage.add({"role": "user", "content": "word " * 1_000})
    first = usage.report({"input_tokens": 4_000, "cache_write_tokens": 1_000}, "p", "m")
    usage.add({"role": "assistant", "content": "word " * 1_000})
    second = usage.report({"input_tokens": 6_000, "cache_read_tokens": 4_000}, "p", "m")
    assert first is not None
    assert second is not None
    one, two = decode(first + b"}"), decode(second + b"}")
    assert (one["actual_tokens"], two["actual_tokens"], two["cached_tokens"]) == (5_000, 6_000, 4_000)
    assert abs(two["predicted_tokens"] / two["actual_tokens"] - 1) < 0.1
    assert usage.report({"output_tokens": 5}, "p", "m") is None
    assert usage.reports == 2
