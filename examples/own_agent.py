"""An agent without Amplifier: a loop that calls a model and a tool, with this package as its memory.

    python examples/own_agent.py session.jsonl "Which files are here?"
    python examples/own_agent.py session.jsonl "And how many?"

The second command goes on where the first one ended. A stand-in answers for the model, so nothing is asked for and no
key is needed; `call_model` has a real client in a comment.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager

SYSTEM = "You answer questions about a directory."
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "list_files",
            "description": "List the files of the working directory.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
]
SENT = ("role", "content", "tool_calls", "tool_call_id")
"""The keys that OpenAI's Chat Completions take; what else a message has (`metadata`) is for the memory."""


async def call_model(view: list[dict[str, Any]]) -> dict[str, Any]:
    """Ask the model for its next message."""
    messages = [{key: message[key] for key in SENT if key in message} for message in view]
    # With a real model (`pip install openai`, and OPENAI_API_KEY set):
    #
    #     completion = await AsyncOpenAI().chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS)
    #     answer = completion.choices[0].message.model_dump(exclude_none=True)
    #     return {key: answer[key] for key in SENT if key in answer}
    return stand_in(messages)


def stand_in(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Answer like a model: look once, then say what was seen."""
    seen = [message["content"] for message in messages if message["role"] == "tool"]
    if not seen:
        call = {"id": "call_1", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    names = json.loads(seen[-1])
    asked = sum(message["role"] == "user" for message in messages)
    return {"role": "assistant", "content": f"Answer {asked}: {len(names)} files, {', '.join(names)}."}


def run_tool(name: str) -> str:
    """Run a tool that the model called."""
    return json.dumps(sorted(os.listdir())) if name == "list_files" else f"Error: there is no tool {name}"


async def ask(session: str, question: str) -> str:
    """Run one turn of a session, which begins or goes on."""
    async with PersistentContextManager(session, max_tokens=100_000) as memory:
        if not await memory.get_messages():
            await memory.add_message({"role": "system", "content": SYSTEM})
        await memory.add_message({"role": "user", "content": question})  # durable from here on
        while True:
            answer = await call_model(await memory.get_messages_for_request())
            await memory.add_message(answer)
            if not answer.get("tool_calls"):
                return str(answer["content"])
            for call in answer["tool_calls"]:
                result = run_tool(call["function"]["name"])
                await memory.add_message({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit('usage: python own_agent.py SESSION.jsonl "QUESTION"')
    print(asyncio.run(ask(sys.argv[1], sys.argv[2])))
