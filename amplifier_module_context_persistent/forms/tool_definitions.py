"""Definitions of tools: from any form into the form of each provider.

The forms that are read are Amplifier's (`{name, description, parameters}`), Anthropic's (`input_schema`), OpenAI's for
Chat Completions (`{type: function, function}`) and Responses (`{type: function, name, parameters}`), MCP's
(`inputSchema`) and Bedrock's (`{toolSpec}`). Any other definition is a tool that a provider's server runs
(`web_search_20250305`, `googleSearch`), and stays unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..messages.message import Message
from .canonical import mapping, text

_SCHEMAS = ("input_schema", "parameters", "inputSchema")
_EMPTY_SCHEMA = {"type": "object", "properties": {}}


class _Definition(NamedTuple):
    """The facts about a tool of the caller that definitions in all forms have."""

    name: str
    description: str
    schema: Any
    has_schema: bool
    more: Message
    """The other keys of the definition."""


def named_tools(tools: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return a file's tools in Amplifier's form, only with name, description and schema.

    Tools without a name are left out.
    """
    written = list[Message]()
    for definition in map(_named, tools):
        if definition is None:
            continue
        tool: Message = {"name": definition.name}
        if definition.description:
            tool["description"] = definition.description
        tool["parameters"] = definition.schema
        written.append(tool)
    return written


def anthropic_tools(tools: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return tools in the form of Anthropic's Messages."""
    written = []
    for tool in tools:
        definition = _definition(tool)
        if definition is None:
            written.append(dict(tool))
            continue
        entry: Message = {"name": definition.name}
        if definition.description:
            entry["description"] = definition.description
        entry["input_schema"] = definition.schema
        if "input_schema" in tool:  # the definition is in Anthropic's form
            entry |= definition.more
        elif "cache_control" in tool:
            entry["cache_control"] = tool["cache_control"]
        written.append(entry)
    return written


def chat_tools(tools: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return tools in the form of OpenAI's Chat Completions."""
    return [_chat_tool(tool) for tool in tools]


def responses_tools(tools: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return tools in the form of OpenAI's Responses."""
    written = []
    for tool in tools:
        definition = _definition(tool)
        if definition is None:
            written.append(dict(tool))
            continue
        strict = {"strict": definition.more["strict"]} if "strict" in definition.more else {"strict": False}
        described = {"description": definition.description} if definition.description else {}
        function = {"type": "function", "name": definition.name, **described, "parameters": definition.schema}
        written.append({**function, **strict})
    return written


def gemini_tools(tools: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return tools in Gemini's form: one entry with all functions, then the tools that Gemini's server runs."""
    functions = []
    others = []
    for tool in tools:
        definition = _definition(tool)
        if definition is None:
            others.append(dict(tool))
            continue
        function: Message = {"name": definition.name}
        if definition.description:
            function["description"] = definition.description
        function["parametersJsonSchema"] = definition.schema
        functions.append(function)
    if not functions:
        return others
    return [{"functionDeclarations": functions}, *others]


def bedrock_tools(tools: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return tools in the form of Bedrock's Converse."""
    written = []
    for tool in tools:
        definition = _definition(tool)
        if definition is None or "toolSpec" in tool:
            written.append(dict(tool))
            continue
        described = {"description": definition.description} if definition.description else {}
        spec = {"name": definition.name, **described, "inputSchema": {"json": definition.schema}}
        written.append({"toolSpec": spec})
    return written


def _chat_tool(tool: Mapping[str, Any]) -> Message:
    found = _definition(tool)
    if found is None or "function" in tool:
        return dict(tool)
    strict = {"strict": found.more["strict"]} if "strict" in found.more else {}
    described = {"description": found.description} if found.description else {}
    function = {"name": found.name, **described, "parameters": found.schema, **strict}
    return {"type": "function", "function": function}


def _definition(tool: Mapping[str, Any]) -> _Definition | None:
    """Return the facts of a definition; None for a tool that a provider's server runs."""
    definition = _named(tool)
    if definition is None or text(tool.get("type")) not in ("", "function", "custom"):
        return None
    if not definition.has_schema and not definition.description:
        return None
    return definition


def _named(tool: Mapping[str, Any]) -> _Definition | None:
    """Return the facts in a tool's definition, whoever runs the tool; None for a definition without a name."""
    inner = mapping(tool.get("function")) or mapping(tool.get("toolSpec")) or tool
    name = text(inner.get("name"))
    if not name:
        return None
    schema_key = ""
    for key in _SCHEMAS:
        if key in inner:
            schema_key = key
            break
    schema = inner.get(schema_key) or _EMPTY_SCHEMA
    if schema_key == "inputSchema" and "json" in mapping(schema):
        schema = mapping(schema)["json"]
    more = {key: value for key, value in inner.items() if key not in ("name", "description", schema_key)}
    return _Definition(name, text(inner.get("description")), schema, bool(schema_key), more)
