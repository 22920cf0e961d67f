"""Redaction by a pattern: what is said goes, ids and structure stay."""

import json
from contextlib import closing
from typing import Any

from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.read_back import NumberedLine
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.messages.secrets.replace_secrets import secrets_replacement
from amplifier_module_context_persistent.sessions.raw_records import pieces_of
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import STAMP, append_bodies, assert_sound, body, content_of, saved_tails, sealed, write_file
from tests.support.purges import messages, plan, purged, redact, write_log


def test_redaction_replaces_what_is_said_and_no_id(path: str) -> None:
    """Text, blocks, arguments (also those that are JSON text), keys in arguments and names' neighbours; ids stay."""
    call = {
        "role": "assistant",
        "content": [{"type": "text", "text": "the hunter2 key"}],
        "tool_calls": [
            {"id": "hunter2", "tool": "run", "arguments": {"id": "hunter2", "hunter2": ["a hunter2"]}},
            {"id": "b", "function": {"name": "run", "arguments": '{"p": "hunter2", "n": 1}'}},
        ],
        "metadata": {"note": "hunter2", "big": 2**80},
    }
    result = {"role": "tool", "tool_call_id": "hunter2", "name": "run", "content": "saw hunter2 and hunter2"}
    write_log(
        path,
        encode_message(call, message_id="hunter2", timestamp=STAMP),
        encode_message(result, message_id="id-1", timestamp=STAMP),
        plan(1, (1, 1), notice="said hunter2"),
        body(2),
    )
    counts = purged(path, redact("hunter2"))
    assert (counts.messages_redacted, counts.controls_redacted, counts.messages_kept) == (2, 1, 3)
    first, second, _ = messages(path)
    assert first["metadata"] == {"note": "[redacted]", "big": 2**80, "timestamp": STAMP, "message_id": "hunter2"}
    assert first["content"][0]["text"] == "the [redacted] key"
    assert first["tool_calls"][0]["id"] == second["tool_call_id"] == "hunter2"
    assert first["tool_calls"][0]["arguments"] == {"id": "[redacted]", "[redacted]": ["a [redacted]"]}
    assert first["tool_calls"][1]["function"]["arguments"] == '{"p": "[redacted]", "n": 1}'
    assert second["content"] == "saw [redacted] and [redacted]"
    assert content_of(path).count(b"hunter2") == 3  # the message's id, the call's, and the result's reference
    assert_sound(path)


def test_a_plan_still_names_its_messages(path: str) -> None:
    """What a plan says of a gap is redacted; the ids by which it names messages stay, so its view can be made."""
    gaps = [["id-0", "id-2", 1, "id-1 was left out", [["ran id-1", 1]], "id-1"]]
    record = {"id": "p2", "upto": "id-2", "keep": [["id-0", "id-0"], ["id-2", "id-2"]], "cuts": {}, "notice": "id-1"}
    write_log(path, body(0), body(1), body(2), encode_control("plan", **record, gaps=gaps))
    purged(path, redact("id-[0-9]"))
    (plan_left,) = (json.loads(line) for line in content_of(path).splitlines() if b'"plan"' in line)
    assert plan_left["gaps"] == [["id-0", "id-2", 1, "[redacted] was left out", [["ran [redacted]", 1]], "id-1"]]
    assert (plan_left["upto"], plan_left["keep"], plan_left["notice"]) == ("id-2", record["keep"], "[redacted]")


def test_what_a_plan_puts_into_messages_is_redacted(path: str) -> None:
    """A plan's cuts hold texts too: of what changed since, and of a gap after a result; ids and numbers stay."""
    cuts = {
        "id-0": [0, 0, {"instead": "[hunter2.py was changed since]", "brief": True}],
        "arguments": [5, 5, {"lines": [[0, 1, 2]], "then": "[2 messages left out: Read hunter2.py; recall id-1]"}],
        "id-then": [7, 7],
    }
    record = {"id": "p2", "upto": "id-2", "keep": [["id-0", "id-2"]], "notice": "", "in_vain": ["run hunter2"]}
    write_log(path, body(0), body(1), body(2), encode_control("plan", **record, cuts=cuts))
    purged(path, redact("hunter2|then"))
    (plan_left,) = (json.loads(line) for line in content_of(path).splitlines() if b'"plan"' in line)
    assert plan_left["cuts"] == {
        "id-0": [0, 0, {"instead": "[[redacted].py was changed since]", "brief": True}],
        "arguments": [
            5,
            5,
            {"lines": [[0, 1, 2]], "then": "[2 messages left out: Read [redacted].py; recall id-1]"},
        ],
        "id-then": [7, 7],
    }
    assert b"hunter2" not in content_of(path)


def test_what_an_import_says_of_its_source_is_redacted(path: str) -> None:
    """A header's title, directory and tools may say what is to go; what names the session and its import stays."""
    source = {
        "format": "codex",
        "key": "codex:hunter2",
        "title": "Why hunter2 fails",
        "cwd": "/srv/hunter2",
        "tools": [{"name": "run", "description": "runs hunter2"}],
        "account": {"lines": 2, "lost": [{"line": 2, "reason": "hunter2 is no entry"}]},
        "subagents": ["hunter2_a"],
    }
    header = {"version": 2, "log_id": "hunter2", "session_id": "hunter2", "tokenizer": "estimate", "created": STAMP}
    write_log(path, encode_control("header", **header, source=source), body(0))
    counts = purged(path, redact("hunter2"))
    left = json.loads(content_of(path).splitlines()[1])
    assert {key: left[key] for key in header} == header
    assert left["source"] == {
        "format": "codex",
        "key": "codex:hunter2",
        "title": "Why [redacted] fails",
        "cwd": "/srv/[redacted]",
        "tools": [{"name": "run", "description": "runs [redacted]"}],
        "account": {"lines": 2, "lost": [{"line": 2, "reason": "[redacted] is no entry"}]},
        "subagents": ["hunter2_a"],
    }
    assert (counts.controls_redacted, counts.messages_kept) == (1, 1)
    assert_sound(path)


def test_an_entry_of_another_format_is_redacted_in_every_field(path: str) -> None:
    """What an import kept as it stood has no ids of this log: a field `name` may be a title."""
    entry = {"type": "session_info", "id": "e1", "name": "why hunter2 fails", "data": {"role": "hunter2", "n": [1]}}
    write_log(path, encode_control("source", line=3, type="session_info", entry=entry), body(0))
    purged(path, redact("hunter2"))
    left = json.loads(content_of(path).splitlines()[1])
    assert left["entry"] == {**entry, "name": "why [redacted] fails", "data": {"role": "[redacted]", "n": [1]}}
    assert_sound(path)


def test_a_purge_of_everything_takes_the_title_of_an_imported_session(path: str) -> None:
    """What a session was called says what it was about; where it came from stays."""
    source = {"key": "codex:a", "title": "Why hunter2 fails", "cwd": "/srv"}
    header = {"version": 2, "log_id": "a", "session_id": "a", "tokenizer": "estimate", "created": STAMP}
    write_log(path, encode_control("header", **header, source=source), body(0))
    purged(path, Purge(everything=True))
    left = json.loads(content_of(path).splitlines()[1])
    assert left["source"] == {"key": "codex:a", "cwd": "/srv"}
    assert_sound(path)


def test_signed_thinking_that_would_change_is_left_out(path: str) -> None:
    """A provider refuses thinking that does not fit its signature; other thinking stays with its signature."""

    def thought(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": text, "signature": "hunter2=="}

    for number, text in enumerate(("about hunter2", "about tea")):
        message = {"role": "assistant", "content": [thought(text)], "thinking_block": thought(text)}
        append_bodies(FileLog(path), encode_message(message, message_id=f"id-{number}", timestamp=STAMP))
    write_file(path + ".torn-1-00000000", b"hunter2")
    assert purged(path, redact("hunter2")).tails_matching == 1
    purged(path, Purge(torn=True))
    changed, same = messages(path)
    assert changed["content"] == [{"type": "text", "text": "[redacted]"}]
    assert "thinking_block" not in changed
    assert saved_tails(path) == []
    assert same["content"][0]["thinking"] == "about tea"


def test_an_answer_that_changes_loses_the_mark_of_its_reasoning(path: str) -> None:
    """What stands between two of its thinking blocks changed; an answer that stays keeps the mark."""
    for number, text in enumerate(("says hunter2", "says tea")):
        blocks = [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": text}]
        message = {"role": "assistant", "content": blocks, "metadata": {"bound": "00ff", "kept": 1}}
        append_bodies(FileLog(path), encode_message(message, message_id=f"id-{number}", timestamp=STAMP))
    purged(path, redact("hunter2"))
    changed, same = messages(path)
    assert "bound" not in changed["metadata"]
    assert changed["metadata"]["kept"] == 1
    assert same["metadata"]["bound"] == "00ff"


def test_an_answer_that_is_redacted_is_bound_to_nothing(path: str) -> None:
    """Nor what follows in the same response: its reasoning may come after what was replaced. Others stay bound."""
    told = [("one", "00"), ("two hunter2", "11"), ("three", "11+1"), ("four", "22"), ("five", "22+1")]
    bodies = []
    for number, (said, bound) in enumerate(told):
        content = [{"type": "text", "text": said}, {"type": "thinking", "thinking": "so", "signature": "s=="}]
        message = {"role": "assistant", "content": content, "metadata": {"bound": bound}}
        bodies.append(encode_message(message, message_id=f"id-{number}", timestamp=STAMP))
    write_log(path, *bodies)
    assert purged(path, redact("hunter2")).messages_redacted == 1
    assert [message["metadata"].get("bound") for message in messages(path)] == ["00", None, None, "22", "22+1"]


def test_the_purge_record_does_not_hold_the_pattern(path: str) -> None:
    """The pattern may be the secret itself."""
    write_log(path, body(0, text=" hunter2"))
    purged(path, redact("hunter2"))
    assert b"hunter2" not in content_of(path)


ONE, TWO, THREE = sealed([body(number) for number in range(3)])


def read(path: str, content: bytes) -> list[tuple[bytes, bool]]:
    """The pieces of a file: their bytes, and whether they are records; each stands where it says."""
    write_file(path, content)
    with closing(LogReader(path)) as reader:
        reader.follow()
        lines = [*reader.whole_lines(), *torn_line(reader, content)]
        found = [piece for line in lines for piece in pieces_of(line.offset, line.content)]
    for offset, line, value in found:
        assert content[offset : offset + len(line)] == line
        assert value is None or value.items() <= json.loads(line).items()
    return [(line, value is not None) for _, line, value in found]


def torn_line(reader: LogReader, content: bytes) -> list[NumberedLine]:
    return [NumberedLine(0, torn.offset, content[torn.offset :])] if (torn := reader.torn) else []


def test_every_byte_but_padding_is_in_a_piece(tmp_path) -> None:
    """Sound lines, a line that is no JSON, records after NUL bytes or glued together, and a torn end."""
    one, two, three = (line.rstrip(b"\n") for line in (ONE, TWO, THREE))
    content = ONE + b"no JSON\n" + b"\0\0" + TWO + one + THREE + b"\n" + two[:20]
    assert read(str(tmp_path / "log.jsonl"), content) == [
        (one, True),
        (b"no JSON", False),
        (two, True),
        (one, True),
        (three, True),
        (b"", False),
        (two[:20], False),
    ]


def test_an_object_that_is_no_record_is_none(tmp_path) -> None:
    """It has neither a role nor a kind."""
    content = b'{"a":1}\n{"role":"user","content":"x"}\n{"_record":"later"}\n'
    assert [known for _, known in read(str(tmp_path / "log.jsonl"), content)] == [False, True, True]


def test_a_number_goes_as_its_text_does(path: str) -> None:
    """Numbers that say where something is stay, as providers refuse a text there."""
    number = 4111111111111111
    call = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Paid.", "citations": [{"start_char_index": number}]}],
        "tool_calls": [{"id": "a", "tool": "pay", "arguments": {"card": number, "list": [1, float(number)]}}],
    }
    result = {
        "role": "tool",
        "tool_call_id": "a",
        "content": [{"type": "json", "json": {"card": number}}],
        "metadata": {"phone": number, "usage": {"input_tokens": number}},
    }
    lines = [encode_message(one, message_id=f"id-{at}", timestamp=STAMP) for at, one in enumerate((call, result))]
    write_log(path, *lines)
    purged(path, redact(str(number)))
    first, second = messages(path)
    assert first["tool_calls"][0]["arguments"] == {"card": "[redacted]", "list": [1, "[redacted].0"]}
    assert first["content"][0]["citations"] == [{"start_char_index": number}]
    assert second["content"] == [{"type": "json", "json": {"card": "[redacted]"}}]
    assert second["metadata"]["phone"] == "[redacted]"
    assert second["metadata"]["usage"] == {"input_tokens": number}


def test_a_purge_of_secrets_takes_what_only_a_key_names(path: str) -> None:
    """In arguments as objects and as JSON text, in blocks and in metadata, as texts and as numbers."""
    named = {"password": "Sommer2024!", "db": {"pwd": "blau77katze"}, "pin": 48213377, "cvv": "837", "passcode": 736251}
    gone = {"password": "[redacted]", "db": {"pwd": "[redacted]"}, "pin": "[redacted]"}
    gone |= {"cvv": "[redacted]", "passcode": "[redacted]"}
    counted = {"pass": 1500, "max_tokens": 4096, "token_count": 123456, "port": 8080}
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "a", "tool": "pay", "arguments": {**named, **counted}},
            {"id": "b", "function": {"name": "pay", "arguments": json.dumps(named)}},
        ],
    }
    result = {
        "role": "tool",
        "tool_call_id": "a",
        "content": [{"type": "json", "json": named}],
        "metadata": {"login": {"password": "Sommer2024!"}},
    }
    lines = [encode_message(one, message_id=f"id-{at}", timestamp=STAMP) for at, one in enumerate((call, result))]
    write_log(path, *lines)
    purged(path, Purge(redact=secrets_replacement()))
    first, second = messages(path)
    assert first["tool_calls"][0] == {"id": "a", "tool": "pay", "arguments": {**gone, **counted}}
    assert json.loads(first["tool_calls"][1]["function"]["arguments"]) == gone
    assert second["content"] == [{"type": "json", "json": gone}]
    assert second["metadata"]["login"] == {"password": "[redacted]"}
    assert_sound(path)
