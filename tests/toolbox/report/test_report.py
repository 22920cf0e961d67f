"""What a report's file holds: every message, calls with their results, turns; redacted, and nothing else that runs."""

import base64
import hashlib
import json
import re
import stat
from importlib.resources import files

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.replay import open_transcript
from amplifier_module_context_persistent.toolbox.report import report
from amplifier_module_context_persistent.toolbox.report.page_frame import SCRIPTS, STYLES
from tests.support.pages import read_page

KEY = "gh" + "p_" + "a1B2" * 9


def message(role, content, second=0, **more):
    return {"role": role, "content": content, **more, "metadata": {"timestamp": f"2026-01-05T09:00:{second:02}.000Z"}}


def called(*names, second=0):
    calls = [{"id": name, "tool": name, "arguments": {"path": f"{name}.py"}} for name in names]
    return message("assistant", "Let me look.", second, tool_calls=calls)


def answered(name, text, second=0):
    return message("tool", text, second, tool_call_id=name, name=name)


@pytest.fixture
def make(tmp_path):
    """Make the report of some messages and read it back."""

    def make(messages, **options):
        source, place = tmp_path / "session.jsonl", tmp_path / "session.html"
        source.write_text("".join(json.dumps(one) + "\n" for one in messages), encoding="utf-8")
        with open_transcript(source) as transcript:
            made = report(transcript, place, force=True, **options)
        return made, read_page(place)

    return make


SESSION = [
    message("user", "Fix the cart.\nIt is urgent.", 1),
    called("read", "grep", second=2),
    answered("read", "def total(): ...", 4),
    answered("grep", "Error: no such file", 5),
    message("assistant", [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Done."}], 6),
    message("user", "And the tests?", 10),
    called("bash", second=11),
]


def test_a_time_outside_of_the_calendar_is_not_said(make):
    """In UTC it lies after the year 9999; the report is made all the same."""
    _, page = make([{"role": "user", "content": "hi", "metadata": {"timestamp": "9999-12-31T23:59:59-23:59"}}])
    assert page.bodies == [[["t", "hi"]]]


def test_messages_stand_in_it_in_order(make):
    """Texts, thinking and calls as parts; roles, times and ids in columns."""
    made, page = make(SESSION)
    assert page.bodies[0] == [["t", "Fix the cart.\nIt is urgent."]]
    assert page.bodies[1] == [
        ["t", "Let me look."],
        ["c", "read", "read", '{"path":"read.py"}'],
        ["c", "grep", "grep", '{"path":"grep.py"}'],
    ]
    assert page.bodies[4] == [["k", "Hm."], ["t", "Done."]]
    history = page.head["history"]
    assert history["roles"] == "hattaha"
    assert len(set(history["ids"])) == 7
    assert history["times"][1:] == [1000, 2000, 1000, 1000, 4000, 1000]
    assert all(tokens > 0 for tokens in history["tokens"])
    assert (made.messages, made.turns) == (7, 2)


def test_calls_are_paired_with_their_results(make):
    """With how they ended and how long they took; a call without a result is unanswered."""
    calls = make(SESSION)[1].head["history"]["calls"]
    expected = {
        "tool": ["read", "grep", "bash"],
        "message": [1, 0, 5],
        "result": [1, 2, 0],
        "state": ".fu",
        "ms": [2000, 3000, -1],
    }
    assert {key: calls[key] for key in expected} == expected
    assert make(SESSION)[1].head["history"]["owners"] == [0, 0, 1, 2, 0, 0, 0]


def test_turns_have_their_first_line_and_sums(make):
    """Time, duration, calls, and those that were not answered well."""
    first, second = make(SESSION)[1].head["history"]["turns"]
    assert (first["line"], first["calls"], first["failed"], first["ms"]) == ("Fix the cart.", 2, 1, 5000)
    assert (second["line"], second["start"], second["stop"], second["failed"]) == ("And the tests?", 5, 7, 1)


def test_only_the_turns_that_are_asked_for_stand_in_it(make, tmp_path):
    """Their numbers stay what they are in the session."""
    source = tmp_path / "session.jsonl"
    make(SESSION)
    with open_transcript(source) as transcript:
        made, page = make(SESSION, turns=transcript.turns()[1:])
    assert made.messages == 2
    assert page.head["history"]["turns"][0]["number"] == 2
    assert page.head["session"]["first"] == 5
    assert "total" not in page.text
    assert "2 messages of 7" in page.shell


def test_secrets_are_replaced_and_named(make):
    """What was replaced is counted by message; without redaction it is left in."""
    messages = [message("user", f"Use {KEY} and {KEY}."), called("read"), answered("read", f"api_key = {KEY}")]
    made, page = make(messages)
    assert KEY not in page.text
    assert KEY not in page.shell
    assert made.redacted_messages == [1, 3]
    assert page.head["session"]["redacted_messages"] == 2
    assert f"{made.redacted} secrets redacted" in page.shell
    assert sum(made.redacted_kinds.values()) == made.redacted >= 3
    _, bare = make(messages, redact=False)
    assert KEY in bare.text
    assert "nothing redacted" in bare.shell


def test_what_does_not_print_is_shown_escaped(make):
    """Directions of writing, control characters and lone surrogates stand there in letters; colours are left out."""
    said = "a\u202eb \x1b[31mred\x1b[0m \x07 caf\udce9 \U0001f469\u200d\U0001f4bb"
    (part,) = make([message("user", said)])[1].bodies[0]
    assert part[1] == "a\\u202eb red \\u0007 caf\\udce9 \U0001f469\u200d\U0001f4bb"


def test_images_are_kept_up_to_the_cap_and_only_of_kinds_that_are_shown(make):
    """An image is named in the text, and stands beside it where it may be shown."""

    def image(kind, data):
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}

    small = base64.b64encode(b"x" * 30).decode()
    blocks = [image("image/png", small), image("image/svg+xml", small), image("image/png", "A" * 3_000_000)]
    blocks.append({"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{small}"}})
    blocks.append(image("image/png", '"><script>'))
    made, page = make([message("user", blocks)])
    assert [part[1:] for part in page.bodies[0] if part[0] == "i"] == [["image/png", small], ["image/jpeg", small]]
    assert page.bodies[0][0] == ["t", "[image/png, 30 bytes]"]
    assert made.images_left_out == 3


def test_the_policy_names_what_stands_in_the_page(make):
    """Script and styles by their hashes; nothing else may run, load or be sent; no element has a style of its own."""
    shell = make(SESSION)[1].shell
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', shell)
    policy = policy.replace("&#39;", "'")
    (script,) = re.findall(r"<script>(.*?)</script>", shell, re.DOTALL)
    (styles,) = re.findall(r"<style>(.*?)</style>", shell, re.DOTALL)
    script_hash, style_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, styles)
    )
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"\s(?:style|on\w+)=", shell.replace(script, "").replace(styles, ""))
    assert not re.search(
        r"https?:|@import|url\(|fetch\(|XMLHttp|innerHTML|insertAdjacent|document\.write|eval\(", shell
    )


def test_the_shell_escapes_what_comes_from_the_session(make):
    """A title that would be markup is text, also where the script reads it."""
    shell = make([message("user", "</title></script><img src=x onerror=alert(1)>")])[1].shell
    assert "<img" not in shell
    assert shell.count("</title>") == 1


def test_the_same_session_gives_the_same_file(make, tmp_path):
    """No clock and no chance is in it; its mode is 0600, and a file that is there is not replaced unasked."""
    make(SESSION)
    place = tmp_path / "session.html"
    first = place.read_bytes()
    make(SESSION)
    assert place.read_bytes() == first
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with open_transcript(tmp_path / "session.jsonl") as transcript, pytest.raises(FileExistsError):
        report(transcript, place)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["session.html", "session.jsonl"]


def test_what_providers_billed_stands_with_the_requests(make):
    """A session without receipts has a request before each answer that reports its usage."""
    usage = {"usage": {"input_tokens": 900, "cache_read_input_tokens": 600, "output_tokens": 40}, "model": "m-1"}
    messages = [message("user", "hi"), message("assistant", "hello")]
    messages[1]["metadata"].update(usage)
    requests = make(messages)[1].head["requests"]
    assert not requests["receipts"]
    assert not requests["estimated"]
    columns = requests["columns"]
    assert [columns[key] for key in ("place", "actual", "cached", "output", "model")] == [
        [1],
        [1500],
        [600],
        [40],
        ["m-1"],
    ]


@pytest.mark.parametrize(
    "messages", [[], [message("tool", "late", tool_call_id="x")], [message("system", "Be brief.")]]
)
def test_odd_sessions_have_a_report(make, messages):
    """Nothing at all, a result without its call, instructions alone."""
    made, page = make(messages)
    assert made.messages == len(messages) == len(page.bodies)


def test_files_of_the_page_are_short_and_all_used():
    """Like those of the package; each stands in the report, in a stated order, or in the list of reports."""
    place = files("amplifier_module_context_persistent.toolbox.report") / "page"
    names = {one.name for one in place.iterdir() if one.name != "__pycache__"}
    assert names == {*SCRIPTS, *STYLES, "report.html", "index.html", "index.css", "index.js"}
    for name in names:
        assert (place / name).read_text(encoding="utf-8").count("\n") <= 300, name


def test_a_result_that_a_host_put_in_says_nothing_of_how_long_its_call_took(make):
    """It was written when the session was repaired, perhaps days later."""
    repaired = answered("read", "(interrupted)", second=50)
    repaired["metadata"]["source"] = "context-repair"
    calls = make([message("user", "Go.", 0), called("read", "grep", second=1), repaired, answered("grep", "x", 3)])
    assert calls[1].head["history"]["calls"]["ms"] == [-1, 2000]


def test_a_result_from_before_its_call_took_no_time(make):
    """Clocks are set back."""
    _, page = make([message("user", "Go.", 1), called("bash", second=9), answered("bash", "done", 4)])
    assert page.head["history"]["calls"]["ms"] == [0]


def test_the_first_line_of_a_turn_is_cut_for_the_list_of_turns(make):
    """The message has it whole."""
    _, page = make([message("user", "word " * 1_000)])
    assert len(page.head["history"]["turns"][0]["line"]) == 160


def test_the_files_are_those_of_the_turns_that_are_shown(make, tmp_path):
    """A call belongs to the turn in which it was made, though its result comes in the next one."""
    files = {name: [{"id": name, "tool": "read_file", "arguments": {"path": f"{name}.py"}}] for name in "ab"}
    messages = [message("user", "One."), message("assistant", "", tool_calls=files["a"])]
    messages += [message("user", "Two."), answered("a", "x"), message("assistant", "", tool_calls=files["b"])]
    messages += [message("user", "Three."), answered("b", "x")]
    make(messages)
    with open_transcript(tmp_path / "session.jsonl") as transcript:
        report(transcript, tmp_path / "two.html", turns=transcript.turns()[1:2])
    assert [file["path"] for file in read_page(tmp_path / "two.html").head["files"]] == ["b.py"]


async def test_what_a_clear_hid_is_counted(tmp_path):
    """The page does not show it, and says so."""
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.add_messages([message("user", "before"), message("assistant", "yes")])
        await manager.clear()
        await manager.add_message(message("user", "after"))
    with open_transcript(tmp_path / "log.jsonl") as transcript:
        report(transcript, tmp_path / "page.html")
    session = read_page(tmp_path / "page.html").head["session"]
    assert (session["messages"], session["hidden"]) == (1, 2)
