"""Read conversations of ChatGPT: `conversations.json` of a data export, or a single conversation from it.

A conversation is `{title, create_time, conversation_id, current_node, mapping}`; the mapping has the nodes of a tree,
`{id, message, parent, children}`. A message is `{id, author: {role, name}, create_time, content, recipient, metadata}`;
its content is one of many kinds (`content_type`). An answer to another `recipient` than `all` is a call, and the tool's
messages after it are the result. The branch of `current_node` is the session.

There is no public specification. Confirmed by public readers of the export: mitkury/chatgpt-export-parser
(`docs/chatgpt-data-export-format.md`), YuanpingSong/chatgpt-analytics, josephjohncox/chatgpt-json-to-md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....forms.canonical import as_text, call, plain_content, text_block
from .account import Account
from .branches import NO_PARENT, Branch, TreeBranch, branches, split_tree
from .conversations import Conversation, conversations_in, note_empty, sampled_conversations
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, named, result, session_name, text, thinking_block
from .lines import SourceObject
from .source_file import Sample, Source, entries_of

_ROLES = frozenset({"user", "assistant", "system", "tool"})
_OWN_KEYS = frozenset({"current_node", "create_time", "conversation_id"})
_CONTEXT = frozenset({"user_editable_context", "model_editable_context"})


def score(sample: Sample) -> int:
    """Return 1000 if a document is an export of ChatGPT, or a conversation from an export; else 0."""
    return 1_000 if any(map(_is_conversation, sampled_conversations(sample))) else 0


def _is_conversation(one: dict[str, Any]) -> bool:
    """Return whether an object is a conversation: it has nodes, or the other keys of a conversation without nodes."""
    nodes = mapping(one.get("mapping"))
    if nodes:
        return any("message" in mapping(node) or "children" in mapping(node) for node in nodes.values())
    return "mapping" in one and not _OWN_KEYS.isdisjoint(one)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield each conversation, with its branches."""
    for conversation in conversations_in(source, account, messages="mapping", ids=("conversation_id", "id")):
        yield from _read_one(conversation, account)


@dataclass(slots=True)
class _Tree:
    """The nodes of a conversation: parents before children, and the live branch after its siblings.

    `parents` has the position of each node's parent in `nodes`, or -1.
    """

    nodes: list[dict[str, Any]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)


def _read_one(source_conversation: Conversation, account: Account) -> Iterator[Event]:
    """Yield a conversation, with its branches."""
    name, session_id, conversation = source_conversation
    facts = named(conversation, title="title", model="default_model_slug")
    if conversation.get("create_time"):
        facts = {**facts, "created": conversation["create_time"]}
    tree = _tree_of(mapping(conversation.get("mapping")), text(conversation.get("current_node")))
    nodes = list(entries_of(tree.nodes, account))
    for node in nodes:
        _note(node, account)
    if not any(map(_said, nodes)):
        note_empty(account, name)
    live, left = split_tree(tree.parents, lambda _: True)
    yield SessionStart("session", "", facts, session_id)
    yield from _events([nodes[position] for position in live])

    def made(branch: TreeBranch) -> Branch:
        first = nodes[branch.own[0]]
        return Branch(
            first.number,
            session_name(text(first.value.get("id"))[:13]),
            _events([nodes[position] for position in branch.common]),
            _events([nodes[position] for position in branch.own]),
        )

    with_talk = [branch for branch in left if any(_said(nodes[position]) for position in branch.own)]
    yield from branches(map(made, with_talk), account, facts, session_id)


def _tree_of(mapped: dict[str, Any], current: str) -> _Tree:
    """Return the nodes as a tree in which the branch with the current node comes after its siblings."""
    nodes = {key: node for key, node in mapped.items() if isinstance(node, dict)}
    current_branch = _path_to(current, nodes)

    def in_order(keys: Iterable[str]) -> list[str]:
        """Return the keys of siblings, the one in the current branch last."""
        return sorted(keys, key=lambda key: key in current_branch)

    tree = _Tree()
    seen = set[str]()
    roots = in_order(key for key, node in nodes.items() if text(node.get("parent")) not in nodes)
    waiting = [(key, NO_PARENT) for key in reversed(roots)]  # the next one is at the end
    while waiting:
        key, parent = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        position = len(tree.nodes)
        tree.nodes.append({"id": key, **nodes[key]})
        tree.parents.append(parent)
        names = [text(child) for child in items(nodes[key].get("children"))]
        children = in_order(name for name in names if name in nodes)
        waiting += [(child, position) for child in reversed(children)]
    for key in nodes.keys() - seen:  # nodes in a cycle, which no root reaches
        tree.nodes.append({"id": key, **nodes[key]})
        tree.parents.append(NO_PARENT)
    return tree


def _path_to(key: str, nodes: Mapping[str, Any]) -> set[str]:
    """Return the keys of a node and of all nodes above it."""
    path = set[str]()
    while key in nodes and key not in path:
        path.add(key)
        key = text(nodes[key].get("parent"))
    return path


def _note(at: SourceObject, account: Account) -> None:
    """Note a node in the account."""
    message = mapping(at.value.get("message"))
    role = text(mapping(message.get("author")).get("role"))
    if not message:
        account.skip("node without a message")
    elif role not in _ROLES:
        account.lose(at.number, f"a message of {role[:20] or 'nobody'}")
    elif not _said(at):
        account.skip(f"{role} without content")
    else:
        account.map(role)
        for part in _lost_parts(mapping(message.get("content"))):
            account.lose_part(at.number, part)


def _said(at: SourceObject) -> list[Message]:
    """Return the content of a node's message as blocks, or an empty list if it has none."""
    message = mapping(at.value.get("message"))
    if text(mapping(message.get("author")).get("role")) not in _ROLES:
        return []
    return _blocks(mapping(message.get("content")))


def _blocks(content: dict[str, Any]) -> list[Message]:
    """Return content of any kind as blocks."""
    kind = text(content.get("content_type"))
    if kind == "thoughts":
        return _thoughts(content)
    if kind in _CONTEXT:
        texts = [text(content.get(key)) for key in ("user_profile", "user_instructions", "model_set_context")]
        joined = "\n\n".join(words for words in texts if words)
        return [text_block(joined)] if joined else []
    parts = content.get("parts")
    if isinstance(parts, list):
        blocks = [_part(part) for part in parts]
        return [block for block in blocks if block is not None]
    for key in ("text", "result", "content", "summary"):
        if text(content.get(key)):
            return [text_block(content[key])]
    return []


def _thoughts(content: dict[str, Any]) -> list[Message]:
    """Return the thoughts of an answer as one block, or [] if there are none."""
    texts = []
    for listed_thought in items(content.get("thoughts")):
        thought = mapping(listed_thought)
        thought_text = f"**{text(thought.get('summary'))}**\n{text(thought.get('content'))}"
        texts.append(thought_text.removeprefix("****\n"))  # a thought without a summary
    return [thinking_block("\n\n".join(texts))] if texts else []


def _part(part: Any) -> Message | None:
    if isinstance(part, str):
        return text_block(part) if part else None
    if not isinstance(part, dict):
        return text_block(as_text(part))
    return text_block(text(part.get("text")) or f"[{_pointer(part)}]")


def _pointer(part: dict[str, Any]) -> str:
    kind = text(part.get("content_type")).removesuffix("_asset_pointer").replace("_", " ") or "part"
    return f"{kind} {text(part.get('asset_pointer'))}".strip()


def _lost_parts(content: dict[str, Any]) -> Iterator[str]:
    """Yield a description of each file that a message points to, because such files are not in the export."""
    for part in map(mapping, items(content.get("parts"))):
        if part and not text(part.get("text")):
            yield f"{_pointer(part)} is not in the file"


def _events(nodes: Sequence[SourceObject]) -> Iterator[Event]:
    """Yield the messages of successive nodes.

    Reasoning is joined with the next answer, a tool's messages to one result.
    """
    thoughts: list[Message] = []  # since the last answer
    call_id = ""
    outputs: list[SourceObject] = []  # of the last call
    for node in nodes:
        blocks = _said(node)
        if not blocks:
            continue
        message = mapping(node.value.get("message"))
        role = text(mapping(message.get("author")).get("role"))
        if role == "tool":
            outputs.append(node)
            continue
        yield from _results(outputs, call_id)
        outputs = []
        if role != "assistant":
            yield _message(node, role, blocks, [])
            continue
        if all(block["type"] == "thinking" for block in blocks):
            thoughts += blocks
            continue
        if mapping(message.get("content")).get("content_type") == "reasoning_recap":
            yield KeptEntry(message, node.number, "reasoning_recap")
            continue
        is_call = text(message.get("recipient")) not in ("", "all")
        if is_call:
            call_id = _id_of(node)
            yield _message(node, role, thoughts, [_call(message, blocks, call_id)])
        else:
            yield _message(node, role, [*thoughts, *blocks], [])
        thoughts = []
    yield from _results(outputs, call_id)
    if thoughts:
        yield _message(nodes[-1], "assistant", thoughts, [])


def _id_of(at: SourceObject) -> str:
    return text(mapping(at.value.get("message")).get("id")) or text(at.value.get("id")) or f"chatgpt-{at.number}"


def _call(message: dict[str, Any], blocks: list[Message], own: str) -> Message:
    written = "\n".join(text(block.get("text")) for block in blocks)
    return call(own, text(message.get("recipient")), written)


def _message(at: SourceObject, role: str, blocks: list[Message], calls: list[Message]) -> MessageRead:
    message = mapping(at.value.get("message"))
    more = mapping(message.get("metadata"))
    time = message.get("create_time")
    if role == "assistant":
        facts = metadata(_id_of(at), time, provider="openai", model=text(more.get("model_slug")))
        written = assistant(blocks, calls, facts)
    else:
        is_programs = more.get("is_visually_hidden_from_conversation") is True
        kind = text(mapping(message.get("content")).get("content_type"))
        source = None
        if role == "user" and (is_programs or kind in _CONTEXT):
            source = "chatgpt:context"
        written = {
            "role": role,
            "content": plain_content(blocks),
            "metadata": metadata(_id_of(at), time, source=source),
        }
    return MessageRead(written or {}, at.number)


def _results(answered: Iterable[SourceObject], call_id: str) -> Iterator[Event]:
    """Yield the result of a call, joined from all messages of its tool; nothing if there are none."""
    nodes = list(answered)
    if not nodes:
        return
    message = mapping(nodes[0].value.get("message"))
    blocks = [block for at in nodes for block in _said(at)]
    failed = mapping(message.get("content")).get("content_type") == "system_error"
    name = text(mapping(message.get("author")).get("name"))
    facts = metadata(_id_of(nodes[0]), message.get("create_time"), failed=failed)
    yield MessageRead(result(call_id or _id_of(nodes[0]), plain_content(blocks), facts, name), nodes[0].number)
