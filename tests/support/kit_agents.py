"""Agents with the real clients of providers, over transports that make up the answers: what a user of a kit writes.

Each agent plays turns on a memory: texts, images and PDFs of a person, thinking, calls of tools two at a time, a search
that the provider's server runs, and a refusal. It keeps the bodies that its client sent.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

from amplifier_module_context_persistent import (
    PersistentContextManager,
    from_anthropic,
    from_gemini,
    from_openai,
    to_anthropic,
    to_gemini,
    to_openai,
    to_openai_responses,
)
from amplifier_module_context_persistent.messages.message import call_name_of, given_calls
from tests.support.foreign_messages import ANTHROPIC_PDF, ANTHROPIC_PNG, PDF, PNG, PNG_URL, Message
from tests.support.typed_shapes import misfits

TOOLS = [{"name": "ls", "description": "List files.", "input_schema": {"type": "object", "properties": {}}}]
PDF_URL = f"data:application/pdf;base64,{PDF}"


def http_module() -> Any:
    """The HTTP client that the kits use: `httpx`, or the package that follows it."""
    try:
        return importlib.import_module("httpx2")
    except ImportError:
        return importlib.import_module("httpx")


class Agent:
    """An agent of one client; subclasses say how it asks, and what its server answers."""

    form = ""
    messages = "messages"
    """The key of the messages in a body."""

    def __init__(self) -> None:
        self.bodies: list[Message] = []
        self.answers = 0
        self.reached: Callable[[str], None] = lambda _: None
        """Told of each step that is stored: `said`, `answered`, `resulted`."""

    async def turn(self, memory: PersistentContextManager, number: int) -> None:
        """Play one turn."""
        await memory.add_message(self.says(number))
        self.reached("said")
        await self.answer_person(memory)

    async def go_on(self, memory: PersistentContextManager) -> None:
        """Go on with a turn that a kill broke off: calls that have no result run again."""
        last = (await memory.get_messages())[-1]
        if calls := [(call_id, call_name_of(called)) for call_id, called in given_calls(last).items()]:
            await memory.add_messages(self.results(calls))
        if calls or last["role"] != "assistant":
            await self.answer_person(memory)

    async def answer_person(self, memory: PersistentContextManager) -> None:
        """Ask and run what is called, until nothing is."""
        while True:
            answer = await self.ask(await memory.get_messages_for_request())
            await memory.add_message(self.message(answer))
            self.reached("answered")
            calls = self.calls(answer)
            if not calls:
                return
            await memory.add_messages(self.results(calls))
            self.reached("resulted")

    def kind(self, body: Message) -> str:
        """What the server does about a request: by the number of the turn, and whether it was given results."""
        number = int(json.dumps(body).rpartition("turn ")[2].partition(" ")[0])
        if number % 7 == 0:
            return "refuses"
        if self.has_results_last(body):
            return "answers"
        return "searches" if number % 4 == 0 else "calls"

    def says(self, number: int) -> Message:
        """What the person says, with an image or a PDF now and then."""
        raise NotImplementedError

    async def ask(self, view: list[Message]) -> Any:
        """Ask the client."""
        raise NotImplementedError

    def message(self, answer: Any) -> Any:
        """What is added of an answer."""
        raise NotImplementedError

    def calls(self, answer: Any) -> list[tuple[str, str]]:
        """The calls of an answer: ids and names."""
        raise NotImplementedError

    def results(self, calls: list[tuple[str, str]]) -> list[Message]:
        """The results of calls, in the client's shape."""
        raise NotImplementedError

    def has_results_last(self, body: Message) -> bool:
        """Whether a request ends with results."""
        raise NotImplementedError

    def wrong(self, body: Message) -> list[str]:
        """What of a body does not fit the client's own types."""
        raise NotImplementedError

    def prefix(self, body: Message) -> list[Any]:
        """The messages of a body without cache marks."""
        raise NotImplementedError


def transport(agent: Agent, answer: Any) -> Any:
    """An HTTP client whose server answers by a function of the body, which is noted."""
    httpx = http_module()

    def respond(request: Any) -> Any:
        body = json.loads(request.content)
        agent.bodies.append(body)
        agent.answers += 1
        return httpx.Response(200, json=answer(body))

    return httpx.AsyncClient(transport=httpx.MockTransport(respond))


def without_marks(value: Any) -> Any:
    """A value without cache marks."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


class AnthropicAgent(Agent):
    """With `anthropic.AsyncAnthropic`."""

    form = "anthropic"

    def __init__(self) -> None:
        super().__init__()
        anthropic = importlib.import_module("anthropic")
        self.client = anthropic.AsyncAnthropic(api_key="x", http_client=transport(self, self._answer))

    def says(self, number: int) -> Message:
        media = {1: [ANTHROPIC_PNG], 2: [ANTHROPIC_PDF]}.get(number % 5, [])
        return {"role": "user", "content": [{"type": "text", "text": f"turn {number} please"}, *media]}

    async def ask(self, view: list[Message]) -> Any:
        body = to_anthropic(view, tools=TOOLS, max_tokens=1000)
        return await self.client.messages.create(model="claude-opus-5-5", **body)

    def message(self, answer: Any) -> Any:
        return from_anthropic(answer)

    def calls(self, answer: Any) -> list[tuple[str, str]]:
        return [(block.id, block.name) for block in answer.content if block.type == "tool_use"]

    def results(self, calls: list[tuple[str, str]]) -> list[Message]:
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": [{"type": "text", "text": f"file of {call_id}"}],
            }
            for call_id, _ in calls
        ]
        results[-1]["content"].append(ANTHROPIC_PNG)
        return [{"role": "user", "content": results}]

    def has_results_last(self, body: Message) -> bool:
        return any(block["type"] == "tool_result" for block in body["messages"][-1]["content"])

    def _answer(self, body: Message) -> Message:
        n, kind = self.answers, self.kind(body)
        search = {"type": "server_tool_use", "id": f"srvtoolu_{n}", "name": "web_search", "input": {"query": "q"}}
        found = {"type": "web_search_result", "url": "https://e.org", "title": "t", "encrypted_content": "RW5j"}
        cited = {"type": "web_search_result_location", "url": "https://e.org", "title": "t", "cited_text": "c"}
        content = {
            "refuses": [],
            "answers": [{"type": "text", "text": f"answer {n}"}],
            "calls": [
                {"type": "thinking", "thinking": f"thought {n}", "signature": f"sig{n}"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": f"toolu_{n}a", "name": "ls", "input": {"n": n}},
                {"type": "tool_use", "id": f"toolu_{n}b", "name": "ls", "input": {"n": n}},
            ],
            "searches": [
                search,
                {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{n}", "content": [found]},
                {"type": "text", "text": f"cited {n}", "citations": [{**cited, "encrypted_index": "RW8"}]},
            ],
        }[kind]
        stop = {"refuses": "refusal", "calls": "tool_use"}.get(kind, "end_turn")
        return {
            "id": f"msg_{n}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 100},
        }

    def wrong(self, body: Message) -> list[str]:
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

        return misfits(body, MessageCreateParamsNonStreaming)

    def prefix(self, body: Message) -> list[Any]:
        return list(without_marks(body["messages"]))


class ChatAgent(Agent):
    """With `openai.AsyncOpenAI`, Chat Completions."""

    form = "openai_chat"

    def __init__(self) -> None:
        super().__init__()
        openai = importlib.import_module("openai")
        self.client = openai.AsyncOpenAI(api_key="x", http_client=transport(self, self._answer))

    def says(self, number: int) -> Message:
        image = {"type": "image_url", "image_url": {"url": PNG_URL}}
        pdf = {"type": "file", "file": {"filename": "q3.pdf", "file_data": PDF_URL}}
        media = {1: [image], 2: [pdf]}.get(number % 5, [])
        return {"role": "user", "content": [{"type": "text", "text": f"turn {number} please"}, *media]}

    async def ask(self, view: list[Message]) -> Any:
        body = to_openai(view, tools=TOOLS, max_tokens=1000)
        return await self.client.chat.completions.create(model="gpt-5.2", **body)

    def message(self, answer: Any) -> Any:
        return answer  # the whole answer, as it came

    def calls(self, answer: Any) -> list[tuple[str, str]]:
        return [(call.id, call.function.name) for call in answer.choices[0].message.tool_calls or ()]

    def results(self, calls: list[tuple[str, str]]) -> list[Message]:
        return [{"role": "tool", "tool_call_id": call_id, "content": f"file of {call_id}"} for call_id, _ in calls]

    def has_results_last(self, body: Message) -> bool:
        return bool(body["messages"][-1]["role"] == "tool")

    def _answer(self, body: Message) -> Message:
        n, kind = self.answers, self.kind(body)
        call = {"type": "function", "function": {"name": "ls", "arguments": '{"n": 1}'}}
        calls = [{"id": f"call_{n}a", **call}, {"id": f"call_{n}b", **call}]
        said: Message = {"content": f"answer {n}", "refusal": None}
        if kind == "refuses":
            said = {"content": None, "refusal": "I will not."}
        elif kind == "calls":
            said = {"content": None, "refusal": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": {"role": "assistant", **said}}
        usage = {"prompt_tokens": 110, "completion_tokens": 20, "total_tokens": 130}
        return {
            "id": f"chatcmpl-{n}",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-5.2",
            "choices": [choice],
            "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 100}},
        }

    def wrong(self, body: Message) -> list[str]:
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

        return misfits(body, CompletionCreateParamsNonStreaming)

    def prefix(self, body: Message) -> list[Any]:
        return list(body["messages"])


class ResponsesAgent(Agent):
    """With `openai.AsyncOpenAI`, Responses."""

    form = "openai_responses"
    messages = "input"

    def __init__(self) -> None:
        super().__init__()
        openai = importlib.import_module("openai")
        self.client = openai.AsyncOpenAI(api_key="x", http_client=transport(self, self._answer))

    def says(self, number: int) -> Message:
        image = {"type": "input_image", "image_url": PNG_URL, "detail": "auto"}
        pdf = {"type": "input_file", "filename": "q3.pdf", "file_data": PDF_URL}
        media = {1: [image], 2: [pdf]}.get(number % 5, [])
        said = {"type": "input_text", "text": f"turn {number} please"}
        return {"type": "message", "role": "user", "content": [said, *media]}

    async def ask(self, view: list[Message]) -> Any:
        body = to_openai_responses(view, tools=TOOLS, max_tokens=1000)
        include = ["reasoning.encrypted_content"]
        return await self.client.responses.create(model="gpt-5.2", store=False, include=include, **body)

    def message(self, answer: Any) -> Any:
        return from_openai(answer)

    def calls(self, answer: Any) -> list[tuple[str, str]]:
        return [(item.call_id, item.name) for item in answer.output if item.type == "function_call"]

    def results(self, calls: list[tuple[str, str]]) -> list[Message]:
        return [
            {"type": "function_call_output", "call_id": call_id, "output": f"file of {call_id}"} for call_id, _ in calls
        ]

    def has_results_last(self, body: Message) -> bool:
        return bool(body["input"][-1].get("type") == "function_call_output")

    def _answer(self, body: Message) -> Message:
        n, kind = self.answers, self.kind(body)
        thought = {"type": "reasoning", "id": f"rs_{n}", "encrypted_content": "RW5j"}
        thought["summary"] = [{"type": "summary_text", "text": f"thought {n}"}]
        call = {"type": "function_call", "name": "ls", "arguments": '{"n": 1}', "status": "completed"}
        said = {"type": "message", "id": f"msg_{n}", "status": "completed", "role": "assistant"}
        searched = {"type": "web_search_call", "id": f"ws_{n}", "status": "completed"}
        searched["action"] = {"type": "search", "query": "q"}
        text = {**said, "content": [{"type": "output_text", "text": f"answer {n}", "annotations": []}]}
        output = {
            "refuses": [{**said, "content": [{"type": "refusal", "refusal": "I will not."}]}],
            "answers": [text],
            "calls": [
                thought,
                {**call, "id": f"fc_{n}a", "call_id": f"call_{n}a"},
                {**call, "id": f"fc_{n}b", "call_id": f"call_{n}b"},
            ],
            "searches": [thought, searched, text],
        }[kind]
        details = {"input_tokens_details": {"cached_tokens": 100}, "output_tokens_details": {"reasoning_tokens": 5}}
        return {
            "id": f"resp_{n}",
            "object": "response",
            "created_at": 1,
            "model": "gpt-5.2",
            "status": "completed",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 110, "output_tokens": 20, "total_tokens": 130, **details},
        }

    def wrong(self, body: Message) -> list[str]:
        from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

        return misfits(body, ResponseCreateParamsNonStreaming)

    def prefix(self, body: Message) -> list[Any]:
        return list(body["input"])


class GeminiAgent(Agent):
    """With `google.genai.Client`."""

    form = "gemini"
    messages = "contents"

    def __init__(self) -> None:
        super().__init__()
        genai = importlib.import_module("google.genai")
        options = genai.types.HttpOptions(httpx_async_client=transport(self, self._answer))
        self.client = genai.Client(api_key="x", http_options=options)

    def says(self, number: int) -> Message:
        image = {"inlineData": {"mimeType": "image/png", "data": PNG}}
        pdf = {"inlineData": {"mimeType": "application/pdf", "data": PDF}}
        media = {1: [image], 2: [pdf]}.get(number % 5, [])
        return {"role": "user", "parts": [{"text": f"turn {number} please"}, *media]}

    async def ask(self, view: list[Message]) -> Any:
        body = to_gemini(view, tools=TOOLS, max_tokens=1000)
        return await self.client.aio.models.generate_content(model="gemini-3.5-pro", **body)

    def message(self, answer: Any) -> Any:
        return from_gemini(answer)

    def calls(self, answer: Any) -> list[tuple[str, str]]:
        found = [part.function_call for part in answer.candidates[0].content.parts or () if part.function_call]
        return [(call.id, call.name) for call in found]

    def results(self, calls: list[tuple[str, str]]) -> list[Message]:
        parts = [{"functionResponse": {"name": name, "response": {"output": "file"}}} for _, name in calls]
        return [{"role": "user", "parts": parts}]

    def has_results_last(self, body: Message) -> bool:
        return any("functionResponse" in part for part in body["contents"][-1]["parts"])

    def _answer(self, body: Message) -> Message:
        n, kind = self.answers, self.kind(body)
        parts = {
            "refuses": [],
            "answers": [{"text": f"answer {n}"}],
            "calls": [
                {"text": f"thought {n}", "thought": True},
                {"functionCall": {"name": "ls", "args": {"n": n}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "ls", "args": {"n": n + 1}}},
            ],
            "searches": [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"text": f"answer {n}"},
            ],
        }[kind]
        reason = "SAFETY" if kind == "refuses" else "STOP"
        usage = {"promptTokenCount": 110, "candidatesTokenCount": 15, "thoughtsTokenCount": 5}
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}],
            "modelVersion": "gemini-3.5-pro",
            "usageMetadata": {**usage, "cachedContentTokenCount": 100},
        }

    def wrong(self, body: Message) -> list[str]:
        from google.genai import types

        for content in body["contents"]:
            types.Content.model_validate(content)  # which knows no other keys
        for tool in body["tools"]:
            types.Tool.model_validate(tool)
        types.GenerationConfig.model_validate(body["generationConfig"])
        return []

    def prefix(self, body: Message) -> list[Any]:
        return list(body["contents"])


AGENTS: dict[str, tuple[str, type[Agent]]] = {
    "anthropic": ("anthropic", AnthropicAgent),
    "openai_chat": ("openai", ChatAgent),
    "openai_responses": ("openai", ResponsesAgent),
    "gemini": ("google.genai", GeminiAgent),
}
"""By form, the package of the client, and the agent."""
