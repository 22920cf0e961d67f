"""The lines of `docs/mcp.md` that add the server to agents: the SDK's own client starts what each names."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from amplifier_module_context_persistent.toolbox.mcp.server import TOOL_LIST
from tests.support.sessions_of_a_home import COMMAND, log_of, write
from tests.support.sweeps import proof

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"
AGENTS = ("Claude Code", "Codex", "Cursor", "Gemini CLI", "Amplifier")


def started_by(agent: str) -> tuple[str, list[str]]:
    """The command that an agent starts by its line, and the arguments, with the project's directory put in."""
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {agent} |"))
    said = re.findall(r"`([^`]+)`", row)[-1]
    if said.startswith("mcp_servers"):
        (server,) = tomllib.loads(said)["mcp_servers"].values()
    elif said.startswith("{"):
        (server,) = json.loads(said)["mcpServers"].values()
    else:
        words = [word for word in shlex.split(said) if word != "--"]
        server = {"command": words[4], "args": words[5:]}
    here = str(Path.cwd())
    arguments = [one.replace("${workspaceFolder}", here).replace("/path/to/project", here) for one in server["args"]]
    return server["command"], arguments


@proof
@pytest.mark.parametrize("agent", AGENTS)
async def test_a_line_starts_the_server_of_this_project(agent: str, project: Path) -> None:
    """It lists this project's sessions, and no others."""
    write(log_of("ours"), [{"role": "user", "content": "The index is corrupt."}])
    write(log_of("theirs", "/elsewhere/vault"), [{"role": "user", "content": "The index of the vault."}])
    command, arguments = started_by(agent)
    assert command == COMMAND.name
    elsewhere = Path.home() if "--project" in arguments else Path.cwd()
    server = StdioServerParameters(command=str(COMMAND), args=arguments, env=dict(os.environ), cwd=elsewhere)
    async with Client(server) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {tool.name for tool in TOOL_LIST}
        listed = (await client.call_tool("list_sessions", {})).structured_content
    assert listed is not None
    assert [one["session"] for one in listed["sessions"]] == ["ours"]
