"""Logs to purge, purges, and what is left after one."""

import contextlib
import json
from functools import partial
from typing import Any

from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.messages.replace_in_message import REPLACEMENT
from amplifier_module_context_persistent.search.pattern import compile_regex
from amplifier_module_context_persistent.search.replace_matches import replace_matches
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge, PurgeCounts
from tests.support.logs import STAMP, append_bodies, content_of

HEADER = encode_control("header", version=2, session_id="s1")


EVERYTHING, CLEARED = Purge(everything=True), Purge(cleared=True)


def before(number: int) -> Purge:
    return Purge(before=f"id-{number}")


def redact(pattern: str) -> Purge:
    return Purge(redact=partial(replace_matches, compile_regex(pattern), REPLACEMENT))


def purged(path: str, purge: Purge, **options: Any) -> PurgeCounts:
    return purge_log(path, purge, now=lambda: STAMP, **options)


def plan(upto: int, *runs: tuple[int, int], notice: str = "") -> bytes:
    named = [[f"id-{first}", f"id-{last}"] for first, last in runs]
    return encode_control("plan", id=f"p{upto}", upto=f"id-{upto}", keep=named, cuts={}, notice=notice)


def write_log(path: str, *bodies: bytes) -> None:
    with contextlib.closing(FileLog(path)) as log:
        append_bodies(log, HEADER, *bodies)


def kinds(path: str) -> list[str]:
    """The kind of each record: of messages, their number."""
    values = map(json.loads, content_of(path).splitlines())
    return [value["_record"] if "_record" in value else value["metadata"]["message_id"][3:] for value in values]


def messages(path: str) -> list[dict[str, Any]]:
    log = FileLog(path)
    log.follow()
    return list(log.read(log.index.live))
