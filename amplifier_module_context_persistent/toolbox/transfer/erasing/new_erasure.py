"""Make the erasure that a purge or a deletion notes, from the names of its session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from secrets import token_hex

from ....erasures.erasure_record import TEXT, ErasedIds, Erasure, Fingerprints, salted_id
from ....erasures.text_rule import TextRule
from ....log.salted_name import salted_name
from .erased_session_names import SourceNames
from .message_names import LONG_ANSWER

_MOST_IDS = 4_000_000  # a line of 32 MB


def erasure_of(
    source: SourceNames,
    what: str,
    *,
    time: str,
    rule: Callable[[str], TextRule] = lambda _: TextRule(),
    is_all: bool = False,
    purges: Iterable[str] = (),
) -> Erasure:
    """Make an erasure with a new salt.

    Args:
        source: the names of the session.
        what: the kind: `SESSION`, `TEXT` or `MESSAGES`.
        time: the time of the erasure, in ISO 8601.
        rule: makes the rule of a purge from the salt.
        is_all: whether everything was purged.
        purges: the salts of the erasures that purges of the log have carried out.
    """
    salt = token_hex(16)
    talk = [
        talk_name for talk_name in source.talk if what == TEXT or (talk_name.is_own and talk_name.chars >= LONG_ANSWER)
    ]
    fingerprints = Fingerprints(
        names=frozenset(salted_name(salt, name) for name in (*source.names, *source.messages)),
        count=source.count,
        content=salted_name(salt, source.content) if source.content else "",
        answers=frozenset(salted_name(salt, name) for name in source.answers),
        talk=frozenset(salted_name(salt, talk_name.name) for talk_name in talk),
        talk_ends=frozenset(salted_name(salt, talk_name.name) for talk_name in talk if talk_name.is_end),
    )
    if len(source.id_hashes) > _MOST_IDS:  # an incomplete list would look complete
        ids = ErasedIds(has_more=True)
    else:
        hashes = sorted({salted_id(salt, id_hash) for id_hash in source.id_hashes})
        ids = ErasedIds(b"".join(hashes), has_all=source.has_all_ids)
    return Erasure(
        salt,
        what,
        time=time,
        fingerprints=fingerprints,
        ids=ids,
        rule=rule(salt),
        is_all=is_all,
        purges=frozenset(purges),
    )
