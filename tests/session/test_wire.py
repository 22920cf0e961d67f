"""What providers refuse in messages: views show it in a form that they take, and go on as they began."""

import asyncio
import base64
import copy
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent import InMemoryContextManager, to_anthropic, to_openai
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.answers import provider
from tests.support.checker import assert_valid, check_view
from tests.support.logs import STAMP, append_bodies
from tests.support.message_shapes import says
from tests.support.messages import Message, fill, set_prompt, user
from tests.support.recorded_sessions import Recorded, assert_proved, controls
from tests.support.request_checker import limit_violations, wire_violations
from tests.support.sweeps import proof
from tests.support.view_properties import examples

LONG = "x" * 64
LINE = "[continued]"


def calls(*ids: str, tool: str = "ls", text: Any = "") -> Message:
    return {"role": "assistant", "content": text, "tool_calls": [{"id": i, "tool": tool, "arguments": {}} for i in ids]}


def result(call_id: str, text: str = "ok", **more: Any) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text, **more}


def ids_in(view: list[Message]) -> tuple[list[str], list[str]]:
    """The ids of calls and of results, in order."""
    asked = [call["id"] for message in view for call in message.get("tool_calls") or ()]
    return asked, [message["tool_call_id"] for message in view if message["role"] == "tool"]


async def view_of(
    *messages: Message, family: str = "", stored: Sequence[Message] = (), **options: Any
) -> list[Message]:
    async with InMemoryContextManager(max_tokens=100_000, **options) as manager:
        if stored:
            await manager.set_messages(stored)
        await fill(manager, messages)
        view = await manager.get_messages_for_request(provider=provider(family) if family else None)
        assert await manager.get_messages() != []
        assert_valid(view)
        assert wire_violations(view, family) == []
        return view


# -- what is shown -----------------------------------------------------------------------------------------------------

JPEG = base64.b64encode(b"\xff\xd8\xff\xe0\x00\x10JFIF\0" + bytes(40)).decode()
UNKNOWN = base64.b64encode(bytes(40)).decode()


def picture(media_type: str, data: str = JPEG) -> Message:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


@proof(quick=1)
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (picture("image/jpg"), "image/jpeg"),
        (picture("image/png"), "image/jpeg"),
        (picture("image/jpeg"), "image/jpeg"),
        (picture("image/jpg", UNKNOWN), "image/jpeg"),
        (picture("image/webp", UNKNOWN), "image/webp"),
    ],
)
async def test_an_image_goes_to_anthropic_under_its_true_type(given: Message, shown: str) -> None:
    """In what a person or a tool gave; who does not look at the type gets what was given."""
    messages = [user("look"), calls("c"), result("c", [copy.deepcopy(given)]), user([copy.deepcopy(given)])]
    for family, expected in (("anthropic", shown), ("", shown), ("openai", given["source"]["media_type"])):
        view = await view_of(*messages, family=family)
        types = [block["source"]["media_type"] for at in (2, 3) for block in view[at]["content"]]
        assert types == [expected] * 2
    sent = to_anthropic(messages)["messages"]
    assert [block["source"]["media_type"] for block in sent[3]["content"]] == [shown]


@proof(quick=1)
@pytest.mark.parametrize("family", ["", "anthropic", "openai", "gemini", "acme"])
async def test_a_number_that_is_not_finite_is_no_number(family: str) -> None:
    """JSON has none, and an older version stored them; arguments that are no JSON for it stay a text."""
    listed = calls("c")
    listed["tool_calls"][0]["arguments"] = {"most": float("inf"), "least": 0.5, "none": None}
    text = {"role": "assistant", "content": [{"type": "tool_call", "id": "d", "name": "ls", "input": '{"x": NaN}'}]}
    given = [user("go"), listed, result("c"), text, result("d")]
    stored = [{**message, "metadata": {"message_id": f"m{at}"}} for at, message in enumerate(given)]
    view = await view_of(family=family, stored=stored)
    assert view[1]["tool_calls"][0]["arguments"] == {"most": None, "least": 0.5, "none": None}
    assert view[3]["content"][0]["input"] == {"arguments": '{"x": NaN}'}
    for body in (to_anthropic(view), to_openai(view)):
        json.dumps(body, allow_nan=False)


@proof(quick=1)
@pytest.mark.parametrize("family", ["", "anthropic", "openai", "gemini", "acme"])
async def test_half_a_surrogate_pair_becomes_the_sign_for_it(family: str) -> None:
    """In texts, arguments, names and keys; history keeps it, and two halves side by side are their character."""
    odd = {"role": "assistant", "content": [{"type": "text", "text": "a\ud800b\ud83d\ude00"}]}
    call = {"id": "c\udce9", "tool": "ls", "arguments": {"k\ud800": ["\udfff"]}}
    messages = [user("caf\udce9"), {**odd, "tool_calls": [call]}, result("c\udce9", "\udce9")]
    view = await view_of(*messages, family=family)
    assert view[0]["content"] == "caf\ufffd"
    assert view[1]["content"][0]["text"] == "a\ufffdb😀"
    assert view[1]["tool_calls"][0]["arguments"] == {"k\ufffd": ["\ufffd"]}


async def test_history_is_not_altered(tmp_path: Path) -> None:
    """What views show otherwise is in the log as it was given."""
    given_messages = [user("caf\udce9"), calls("a.b", tool="str replace"), result("a.b")]
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        await session.add(*copy.deepcopy(given_messages))
        await session.view()
        await session.restart()
        history = await session.manager.get_messages()
        assert [{k: v for k, v in message.items() if k != "metadata"} for message in history] == given_messages


@proof(quick=1)
@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (["functions.bash:0"], ["functions_bash_0"]),
        (["a.b", "a:b", "a_b"], ["a_b", "a_b_2", "a_b_3"]),
        ([LONG], [LONG]),
        (["é"], ["_"]),
    ],
    ids=["other characters", "three that become one", "as long as may be", "nothing that may be"],
)
async def test_ids_of_calls_are_taken_and_stay_unique(ids: list[str], shown: list[str]) -> None:
    """Each result has the id of its call, whatever it became."""
    view = await view_of(user("go"), calls(*ids), *[result(one, one) for one in reversed(ids)], family="anthropic")
    assert ids_in(view) == (shown, shown)
    assert [message["content"] for message in view if message["role"] == "tool"] == ids


async def test_an_id_that_is_too_long_keeps_its_beginning_and_a_digest() -> None:
    """So ids that differ at their ends stay two; a number after a repeated one makes it no longer."""
    first, second = LONG + "1", LONG + "2"
    view = await view_of(
        user("go"), calls(first, second), result(second, "2"), result(first, "1"), calls(LONG), calls(LONG)
    )
    asked, answered = ids_in(view)
    assert asked == answered
    assert len(set(asked)) == 4
    assert all(len(one) <= 64 for one in asked)
    assert asked[0][:55] == asked[1][:55] == "x" * 55
    assert asked[3] == "x" * 62 + "_2"


async def test_openai_gets_shorter_ids() -> None:
    """Chat Completions takes 40 characters."""
    view = await view_of(user("go"), calls("chatcmpl-tool-" + "0" * 32), family="openai")
    assert all(len(one) <= 40 for one in ids_in(view)[0])


async def test_names_of_tools_are_taken() -> None:
    """Of calls in both forms, of results, and of what stands in for a missing one; Google takes dots."""
    call = {"id": "b", "type": "function", "function": {"name": "fs.read", "arguments": "{}"}}
    messages = [user("go"), calls("a", tool="str replace")]
    messages[1]["tool_calls"].append(call)
    messages.append(result("a", name="str replace"))
    view = await view_of(*messages, family="anthropic")
    assert view[1]["tool_calls"][0]["tool"] == view[2]["name"] == "str_replace"
    assert view[1]["tool_calls"][1]["function"]["name"] == view[3]["name"] == "fs_read"
    view = await view_of(*messages, family="gemini")
    assert view[1]["tool_calls"][1]["function"]["name"] == "fs.read"


@pytest.mark.parametrize("family", ["anthropic", "openai", "gemini"])
async def test_a_call_without_a_name_gets_one(family: str) -> None:
    """The one that `to_openai` gives it, in every form of a call; a model's fault does not end a session."""
    message = calls("a", tool="")
    message["tool_calls"].append({"id": "b", "type": "function", "function": {"name": "", "arguments": "{}"}})
    message["tool_calls"].append({"id": "c", "arguments": {}})
    message["content"] = [{"type": "tool_call", "id": "d", "name": "", "input": {}}]
    view = await view_of(user("go"), message, *(result(one) for one in "abcd"), family=family)
    first, second, third, of_block = view[1]["tool_calls"]
    assert first["tool"] == second["function"]["name"] == third["tool"] == of_block["tool"] == "unknown"
    assert view[1]["content"][0]["name"] == "unknown"
    sent = [call["function"]["name"] for call in to_openai([user("go"), message])["messages"][1]["tool_calls"]]
    assert sent == ["unknown"] * 4


async def test_four_cache_marks_stay() -> None:
    """The first ones, so that what was sent stays as it was; the text is all there."""
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [user([{"type": "text", "text": str(number), **mark}]) for number in range(6)]
    view = await view_of(*messages, family="anthropic")
    assert ["cache_control" in message["content"][0] for message in view] == [True] * 4 + [False] * 2
    assert [message["content"][0]["text"] for message in view] == list("012345")


async def test_system_text_of_a_factory_is_text() -> None:
    """Half a surrogate pair in it would stop every request."""
    async with InMemoryContextManager() as manager:
        await set_prompt(manager, "Rule \ud800.")
        await manager.add_message(user("go"))
        view = await manager.get_messages_for_request()
    assert view[0]["content"] == "Rule \ufffd."


# -- the line after an answer ------------------------------------------------------------------------------------------

REFUSING = provider("anthropic", "claude-opus-4-6")


def words(view: list[Message]) -> list[Any]:
    return [message["content"] for message in view]


async def test_a_view_that_ends_with_an_answer_gets_a_line_that_its_answer_keeps(tmp_path: Path) -> None:
    """Newer Claude models take no prefill; the next views go on from there, also in the next process."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        await session.add(user("go"), says("One."))
        first = await session.view(None, REFUSING)
        assert first[-1] == {"role": "user", "content": LINE, "metadata": {"source": "context-compaction"}}
        assert await session.view(None, REFUSING) == first
        await session.add(says("Two."))
        second = await session.view(None, REFUSING)
        assert second[: len(first)] == first
        await session.add(user("And?"))
        third = await session.view(None, REFUSING)
        assert words(third) == ["go", "One.", LINE, "Two.", "And?"]
        await session.restart()
        assert await session.view(None, REFUSING) == third


async def test_nobody_sees_a_line_and_no_person_keeps_one(tmp_path: Path) -> None:
    """A host that looks at views after each turn does not double the people in the session."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        for number in range(3):
            await session.add(user(f"go {number}"), says(f"done {number}"))
            for reader in (None, REFUSING, None):
                await session.view(None, reader)
        said = [f"{word} {number}" for number in range(3) for word in ("go", "done")]
        assert words(await session.view()) == said
        assert words(await session.view(None, REFUSING)) == [*said, LINE]
        assert LINE not in json.dumps(await session.manager.get_messages())


READERS = [
    ("anthropic", "claude-opus-4-6", True),
    ("anthropic", "", True),
    ("anthropic", "claude-haiku-5-5", True),
    ("anthropic", "claude-fable-5-2", True),
    ("bedrock", "us.anthropic.claude-sonnet-4-6-20260211-v1:0", True),
    ("bedrock", "bedrock/global.anthropic.claude-opus-5-5-v1:0", True),
    ("openrouter", "anthropic/claude-sonnet-5", True),
    ("openrouter", "openrouter/anthropic/claude-opus-4.8:thinking", True),
    ("vertex", "claude-opus-4-6@20260205", True),
    ("databricks", "databricks-claude-sonnet-4-6", True),
    ("github-copilot", "claude-opus-4.7", True),
    ("anthropic", "claude-sonnet-4-5-20250929", False),
    ("anthropic", "claude-opus-4-20250514", False),
    ("anthropic", "claude-3-7-sonnet-latest", False),
    ("anthropic", "claude-instant-1.2", False),
    ("bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", False),
    ("openrouter", "anthropic/claude-haiku-4.5", False),
    ("my-claude-proxy", "llama-3", False),
    ("openai", "gpt-6.2", False),
    ("gemini", "gemini-3-pro", False),
    ("ollama", "", False),
]


@pytest.mark.parametrize(("name", "model", "refuses"), READERS)
async def test_the_line_is_for_models_that_are_known_to_refuse_prefill(name: str, model: str, refuses: bool) -> None:
    """Behind any gateway's prefix."""
    async with InMemoryContextManager() as manager:
        await fill(manager, [user("go"), says("One.")])
        view = await manager.get_messages_for_request(provider=provider(name, model))
    assert words(view) == ["go", "One."] + [LINE] * refuses


@pytest.mark.parametrize("name", ["anthropic", "anthropic/claude-opus-5-5", "claude-opus-5-5"])
async def test_a_caller_without_a_host_says_who_reads(name: str) -> None:
    """By the name of a provider, or once by the option; a request that names another one is for that one."""
    async with InMemoryContextManager() as manager:
        await fill(manager, [user("go"), says("One.")])
        assert words(await manager.get_messages_for_request(provider=name)) == ["go", "One.", LINE]
        assert words(await manager.get_messages_for_request(50_000, name)) == ["go", "One.", LINE]
    async with InMemoryContextManager(recipient=name) as manager:
        await fill(manager, [user("go"), says("One.")])
        assert words(await manager.get_messages_for_request()) == ["go", "One.", LINE]
        assert words(await manager.get_messages_for_request(provider="openai")) == ["go", "One."]


async def test_an_answer_after_something_else_keeps_no_line() -> None:
    """Nobody knows that a provider saw the line."""
    async with InMemoryContextManager() as manager:
        await fill(manager, [user("go"), says("One.")])
        await manager.get_messages_for_request(provider=REFUSING)
        await fill(manager, [user("on"), says("Two."), says("Three.")])
        view = await manager.get_messages_for_request(provider=REFUSING)
    assert words(view) == ["go", "One.", "on", "Two.", "Three.", LINE]


async def test_the_bodies_of_requests_go_on_from_each_other() -> None:
    """Whoever makes them of views for nobody: the line that is added to one body is in the next one."""
    async with InMemoryContextManager() as manager:
        await manager.add_message(user("go"))
        before: list[Message] = []
        for number in range(4):
            await fill(manager, [says(f"part {number}")] if number else [says("part 0"), user("more")])
            body = to_anthropic(await manager.get_messages_for_request(), cache=False)["messages"]
            assert body[: len(before)] == before
            assert body[-1]["role"] == "user"
            before = body


async def test_system_text_after_an_answer_is_no_last_word() -> None:
    """Providers move it to the beginning, and the answer comes last then."""
    messages = user("go"), says("Done."), {"role": "system", "content": "Rule."}
    view = await view_of(*messages, family="anthropic", late_system="system")
    assert words(view) == ["go", "Done.", "Rule.", LINE]


async def test_a_fork_keeps_the_line(tmp_path: Path) -> None:
    """Its views begin as those of the session that it was forked from."""
    session = Recorded(tmp_path / "log.jsonl", max_tokens=100_000)
    await session.add(user("go"), says("Done."))
    await session.view(None, REFUSING)
    await session.add(says("And more."), user("And?"))
    view = await session.view(None, REFUSING)
    assert LINE in words(view)
    await session.manager.close()
    forked = fork_session(session.path, path=tmp_path / "fork.jsonl")
    async with Recorded(Path(forked.path), max_tokens=100_000) as other:
        assert words(await other.view(None, REFUSING)) == words(view)


# -- sessions from before there were such rules ------------------------------------------------------------------------


def old_log(path: Path, *messages: Message) -> None:
    """A log whose header does not say that its views keep the strict rules."""
    with closing(FileLog(str(path))) as log:
        header = encode_control("header", version=2, log_id="old", session_id=None, tokenizer="estimate", created=STAMP)
        bodies = [encode_message(one, message_id=f"m{at}", timestamp=STAMP) for at, one in enumerate(messages)]
        append_bodies(log, header, *bodies)


OLD = [user("go"), calls("a.b", LONG + "1", tool="str replace"), result("a.b"), result(LONG + "1"), user("caf\udce9")]


@pytest.mark.parametrize("family", ["", "acme"])
async def test_an_old_session_goes_on_as_it_was_sent_until_its_next_plan(tmp_path: Path, family: str) -> None:
    """Where nobody knows that the provider refuses it, and but for what nobody can encode."""
    old_log(tmp_path / "log.jsonl", *OLD)
    async with Recorded(tmp_path / "log.jsonl", max_tokens=4_000) as session:
        view = await session.view(None, provider(family) if family else None)
        assert ids_in(view)[0] == ["a.b", LONG + "1"]
        assert view[1]["tool_calls"][0]["tool"] == "str replace"
        assert view[-1]["content"] == "caf\ufffd"
        await session.add(*[user(f"{number} " + "word " * 300) for number in range(20)])
        view = await session.view(None, provider(family) if family else None)
        assert len(controls(session.path, "plan")) == 1
        assert wire_violations(view) == []
        await session.restart()
        assert await session.view(None, provider(family) if family else None) == view


async def test_an_old_session_is_mapped_where_it_would_be_refused(tmp_path: Path) -> None:
    """Anthropic never took such a request, so nothing that was sent changes."""
    old_log(tmp_path / "log.jsonl", *OLD)
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        view = await session.view(None, provider("anthropic"))
        assert wire_violations(view, "anthropic") == []
        view = await session.view(None, provider("openai"))
        assert wire_violations(view, "openai") == []
        assert ids_in(view)[0][0] == "a.b"


def with_line(message: Message) -> Message:
    """A message as earlier versions stored it after a view that ended with the line."""
    return {**message, "metadata": {"line_before": LINE}}


OLD_LINES = [user("go"), says("One."), with_line(user("two?")), says("Two."), says("Three.")]


@pytest.mark.parametrize("family", ["anthropic", "acme", "gemini"])
async def test_an_old_session_keeps_its_lines_for_who_is_named(tmp_path: Path, family: str) -> None:
    """They were sent with earlier requests; for nobody the view is the history."""
    old_log(tmp_path / "log.jsonl", *OLD_LINES)
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        said = words(await session.view(None, provider(family)))
        assert said == ["go", "One.", LINE, "two?", "Two.", "Three.", *[LINE] * (family == "anthropic")]
        assert words(await session.view()) == ["go", "One.", "two?", "Two.", "Three."]


async def test_a_line_that_one_provider_was_sent_is_for_that_one(tmp_path: Path) -> None:
    """Each provider's views go on from what it was sent."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        await session.add(user("go"), says("One."))
        sent = {family: await session.view(None, provider(family)) for family in ("anthropic", "gemini")}
        assert [sent[family][-1]["content"] for family in sent] == [LINE, "One."]
        await session.add(says("Two."))
        for family, before in sent.items():
            view = await session.view(None, provider(family))
            assert view[: len(before)] == before
            assert (LINE in words(view)[:-1]) == (family == "anthropic")


@pytest.mark.parametrize("last", ["anthropic", "gemini"])
async def test_in_the_next_process_the_last_receipt_says_whether_an_answer_had_a_line(
    tmp_path: Path, last: str
) -> None:
    """As when another process stores the answer."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=100_000) as session:
        await session.add(user("go"), says("One."))
        for family in ("anthropic", "gemini", last):
            await session.view(None, provider(family))
        await session.restart()
        await session.add(says("Two."))
        assert (LINE in words(await session.view(None, REFUSING))[:-1]) == (last == "anthropic")


# -- PDFs --------------------------------------------------------------------------------------------------------------


def pdf(pages: int) -> Message:
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj<</Type/Page>>endobj\n" % number for number in range(pages))
    source = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(body).decode()}
    return {"type": "tool_result", "tool_call_id": "c", "output": [{"type": "document", "source": source}]}


async def test_the_pages_of_pdfs_count(tmp_path: Path) -> None:
    """Anthropic takes a hundred in a request; the oldest PDFs go first, and one that is too long goes always."""
    async with Recorded(tmp_path / "log.jsonl", max_tokens=1_000_000) as session:
        await session.add(user("Read them."))
        for number, pages in enumerate([60, 30, 40, 101]):
            call, answer = calls(f"c{number}"), pdf(pages)
            answer["tool_call_id"] = f"c{number}"
            await session.add(call, {"role": "tool", "tool_call_id": f"c{number}", "name": "ls", "content": [answer]})
            view = await session.view(None, provider("anthropic"))
            assert limit_violations(view, "anthropic") == []
        shown = [json.dumps(message).count('"application/pdf"') for message in view if message["role"] == "tool"]
        assert shown == [0, 0, 1, 0]


# -- any session -------------------------------------------------------------------------------------------------------

IDS = ("a", "a.b", "a_b", "a:b", "é", LONG, LONG + "1", LONG + "2", "x" * 62 + "_2", "c\ud800", "call_0", "a b", "42")
TOOLS = ("ls", "str replace", "fs.read", "n" * 70, "n" * 140, "é\ud800")
TEXTS = ("word", "half \ud83d", "\udc00", "two halves \ud83d\ude00", "é 😀", "a\ud800" * 3)
MARKED = {"type": "text", "text": "marked", "cache_control": {"type": "ephemeral"}}
PROVIDERS = ("", "anthropic", "openai", "gemini", "acme")

piece = st.one_of(
    st.tuples(st.just("user"), st.sampled_from(TEXTS)),
    st.tuples(st.just("marked"), st.just("")),
    st.tuples(st.just("says"), st.sampled_from(TEXTS)),
    st.tuples(
        st.just("calls"),
        st.tuples(
            st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True), st.sampled_from(TOOLS), st.booleans()
        ),
    ),
)


def messages_of(kind: str, what: Any) -> list[Message]:
    if kind == "user":
        return [user(what)]
    if kind == "marked":
        return [user([MARKED])]
    if kind == "says":
        return [says(what)]
    ids, tool, answered = what
    found = [calls(*ids, tool=tool)]
    if answered:
        found += [result(one, one, **({"name": tool} if len(ids) % 2 else {})) for one in reversed(ids)]
    return found


@proof
@examples(36)
@given(
    steps=st.lists(st.tuples(st.lists(piece, max_size=3), st.sampled_from(PROVIDERS), st.booleans()), max_size=8),
    old=st.booleans(),
)
def test_any_view_is_taken_by_who_gets_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[Any], str, bool]], old: bool
) -> None:
    """Valid, proved, and for each provider the view before with what was appended, whatever restarts there are."""
    path = tmp_path_factory.mktemp("any") / "log.jsonl"
    if old:
        old_log(path, user("old"), calls("a.b", tool="x y"), result("a.b"))

    async def play() -> list[list[Message]]:
        session = Recorded(path, max_tokens=1_000_000)
        last: dict[str, list[Message]] = {}
        await session.add(user("begin"))
        for pieces, family, restarts in steps:
            for kind, what in pieces:
                await session.add(*messages_of(kind, what))
            view = await session.view(None, provider(family) if family else None)
            if family:
                assert check_view(view) == []
            assert wire_violations(view, family, strict=not old) == []
            before = last.get(family, [])
            assert view[: len(before)] == before
            has_line = view[-1]["content"] == LINE  # it stays if an answer follows
            last[family] = view[:-1] if has_line else view
            if restarts:
                await session.restart()
        await session.manager.close()
        return session.views

    assert_proved(path, asyncio.run(play()))
