"""Foreign forms of messages: one module for each provider or kit, the only place that knows its shapes.

| module | form |
| --- | --- |
| `canonical` | Amplifier's own: its parts, the mark of a message that came in another form |
| `anthropic` | Anthropic Messages; `anthropic_server_tools`: calls that its server runs |
| `openai_chat` | OpenAI Chat Completions; `chat_parts`: its parts |
| `openai_responses` | OpenAI Responses; `responses_calls`, `responses_parts`, `responses_reasoning`: its items |
| `gemini` | Google Gemini |
| `bedrock` | Amazon Bedrock Converse, Strands |
| `mcp` | results of MCP tools |
| `recognise` | recognises the form of a message by its shape |
| `block_text` | blocks as text, for a form that does not take them |
| `calls_among_blocks` | messages with calls and results among their blocks: Anthropic's, Gemini's, Bedrock's |
| `calls_by_name` | results of Gemini that name no call |
| `any_form_to_canonical` | messages of any form become canonical ones |
| `anthropic_in_files` | Anthropic's messages as files have them, with ids for calls that have none |
| `openai_in_files` | OpenAI's messages and items as files have them, damaged or shortened |
| `tool_definitions` | definitions of tools |
| `request_bodies` | a view becomes the body of a request; answers become messages |
| `whole_body` | the messages of a request's whole body |
| `vercel_ai` | messages of Vercel's AI SDK in files; only read |
| `agent_framework`, `claude_code`, `openai_agents`, `pydantic_ai` | the messages of kits, and of Claude Code's files |

Rules of this package:
- Pure: no file, no event loop, no clock. Arguments are never mutated.
- A module has `NAME`, `read(messages) -> list`, `write(messages, exact=False) -> list`, and `usage(reported)` if its
  answers report usage. The table in its docstring says how the provider's keys and Amplifier's correspond, with
  sources.
- Facts that a canonical message (Amplifier's own form) has a place for are there and nowhere else. Other facts are
  beside it, in the mark (`metadata.form`) or as further keys of a block. Nothing is stored twice, except reasoning that
  was added alone (`responses_reasoning`).
- A *provider's item*, which no other provider understands, stays unchanged, and only its own form writes it back.
- Malformed messages are refused (`RecordError`), unknown ones never.

For importers: call the module of the source's form with plain JSON, `anthropic.read([message])` or
`openai_responses.read(items)` for a run of items. Each canonical message has `role`, `content`, `tool_calls`,
`tool_call_id`, and metadata with `is_error`, `model`, `stop_reason`, `usage`, `provider` as the source says.
`canonical.unmarked(message)` removes the mark; `canonical.parsed_calls(message)` gives calls in Amplifier's shape
(`{id, tool, arguments}`, parsed) where a form keeps its own; `canonical.plain_content(blocks)` turns a single text
block into a text. Add your own ids, times and sources to the metadata. If a `RecordError` is raised, the message is
lost, and the error's text is the reason. Exporters call `write(messages, exact=True)`; bodies of requests are made by
`request_bodies`.
"""
