"""The formats that are recognised and cannot be imported, each with advice for a person who has such a file.

A format is here because it would else be read as another one, or because people have such files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .fields import items, mapping, text
from .source_file import Sample

_One = dict[str, Any]
_AS_API = "write them in the form of OpenAI's or Anthropic's API"
_WHOLE = "import the whole conversation, or the answer as one object"


class _NotRead(NamedTuple):
    name: str
    instead: str
    is_own: Callable[[_One], bool]


def not_read(sample: Sample) -> str:
    """Return why a file cannot be imported although its format is recognised, or "" for any other file."""
    first = first_object(sample)
    found = next((known for known in _NOT_READ if known.is_own(first)), None)
    return f"these are {found.name}, which are not read; {found.instead}" if found is not None else ""


def first_object(sample: Sample) -> dict[str, Any]:
    """Return the first object of a file: of its lines or its list, or the document itself.

    Return {} if there is none.
    """
    if sample.entries:
        return sample.entries[0]
    document = list(sample.long_list) or sample.document
    return next(_objects(document if isinstance(document, list) else [document]), {})


def _objects(listed: list[Any]) -> Iterator[dict[str, Any]]:
    return (item for item in listed if isinstance(item, dict))


def _first_in(one: _One, key: str) -> _One:
    """Return the first object of a list in an object, or {}."""
    return next(_objects(items(one.get(key))), {})


def _has(*keys: str) -> Callable[[_One], bool]:
    return lambda one: all(key in one for key in keys)


_ROLES_OF_LANGCHAIN = frozenset({"human", "ai", "system", "tool", "function"})


def _is_langchains(one: _One) -> bool:
    kind = text(one.get("type"))
    if "lc" in one or (kind in _ROLES_OF_LANGCHAIN and isinstance(one.get("data"), dict)):
        return True
    return kind in ("human", "ai") and "content" in one and "role" not in one


def _is_pydantics(one: _One) -> bool:
    return one.get("kind") in ("request", "response") and isinstance(one.get("parts"), list)


def _is_amps(one: _One) -> bool:
    """Return whether a document is a thread of Amp, whose results would be read as empty ones."""
    return text(one.get("id")).startswith("T-") and "v" in one and isinstance(one.get("messages"), list)


def _is_zeds(one: _One) -> bool:
    return bool({"User", "Agent"} & _first_in(one, "messages").keys())


def _is_crushs(one: _One) -> bool:
    part = _first_in(one, "parts")
    return "type" in part and isinstance(part.get("data"), dict)


def _is_chunk(one: _One) -> bool:
    kind = text(one.get("type"))
    is_event = kind in ("message_start", "content_block_start") or kind.startswith("response.")
    return one.get("object") == "chat.completion.chunk" or is_event


_NOT_READ = (
    _NotRead("messages of LangChain", "write them with `convert_to_openai_messages`", _is_langchains),
    _NotRead("messages of Pydantic AI", _AS_API, _is_pydantics),
    _NotRead("messages of Amp", _AS_API, _is_amps),
    _NotRead("sessions of Factory's Droid", _AS_API, lambda one: one.get("type") == "session_start"),
    _NotRead("threads of Zed", _AS_API, _is_zeds),
    _NotRead("messages of Crush", _AS_API, _is_crushs),
    _NotRead("sessions of Continue", _AS_API, lambda one: "message" in _first_in(one, "history")),
    _NotRead("conversations of Amazon Q or Kiro CLI", _AS_API, _has("conversation_id", "history")),
    _NotRead("sessions of Google's Agent Development Kit", _AS_API, _has("appName", "events")),
    _NotRead("chats of VS Code", _AS_API, _has("requesterUsername", "requests")),
    _NotRead("chats of Open WebUI", _AS_API, lambda one: "history" in mapping(one.get("chat"))),
    _NotRead("conversations of LibreChat", _AS_API, _has("conversationId", "messages")),
    _NotRead("chats of LM Studio", _AS_API, lambda one: "versions" in _first_in(one, "messages")),
    _NotRead("messages of AutoGen", _AS_API, _has("source", "models_usage")),
    _NotRead("conversations in ShareGPT's form", _AS_API, lambda one: "from" in _first_in(one, "conversations")),
    _NotRead(
        "what the window of Cline or Roo Code shows (`ui_messages.json`)",
        "import `api_conversation_history.json` beside it",
        lambda one: one.get("type") in ("say", "ask") and text(one.get("type")) in one,
    ),
    _NotRead(
        "prompts that Gemini CLI remembers (`logs.json`)",
        "import its sessions: --from gemini-cli",
        _has("messageId", "sessionId", "message"),
    ),
    _NotRead(
        "requests or answers of a batch",
        "import the `body` of each from a file of its own",
        lambda one: "custom_id" in one and ("body" in one or "response" in one),
    ),
    _NotRead("events of a stream", _WHOLE, _is_chunk),
)
