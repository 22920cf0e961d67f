"""Adapters for other agent kits: each module gives one kit the sessions of this package, in the kit's own types.

A *kit* is a library for agents that stores its history by an interface of its own.

| module | kit |
| --- | --- |
| `claude_agent_sdk` | Claude Agent SDK: `PersistentSessionStore` |
| `openai_agents` | OpenAI Agents SDK: `PersistentSession` |
| `pydantic_ai` | Pydantic AI: `PersistentConversationStore`, `ViewOfHistory` |
| `agent_framework` | Microsoft Agent Framework: `PersistentHistory` |
| `sessions_by_key` | sessions by the keys of a kit: opened once, listed, deleted |
| `working_view` | views of a history that a kit keeps by itself |
| `kept_plan` | the plan of these views, as a record of the stored session |

Rules of this package:
- A kit is imported in its own module and nowhere else; no other package of ours imports this one.
- Adapters are thin: the packages below decide what is stored and how, and `forms/` knows the shapes of messages.
- Ids come from strangers. They become names by `session_ids`, and are never part of a path otherwise.
"""
