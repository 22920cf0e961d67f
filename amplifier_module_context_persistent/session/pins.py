"""Pin messages: for the host, and within limits for the model.

Pins that do not fit make every request an error, and a model that gets no request cannot unpin anything. So the model's
pins may hold a share of the target only; a host that pins more gets the error.
"""

from __future__ import annotations

from ..errors import PinError
from ..log.base import Log
from ..log.index import Index
from .store import Session, Store

MODELS_SHARE = 0.5
"""The largest share of the target that `pin` records may hold after the model adds one."""


async def pin(
    store: Store, message_id: str, *, pinned: bool, reason: str, time: str, within: float | None = None
) -> None:
    """Append the record that pins or unpins a message.

    Args:
        store: the session's store.
        message_id: names the message.
        pinned: whether it is pinned.
        reason: why.
        time: ISO 8601.
        within: refuse if pins would then hold more than this share of the last request's target.

    Raises:
        PinError: no live message has this id, or pins would hold too much.
    """
    session = await store.open()
    if pinned and within is not None:
        most = int(within * session.config.target_usage * session.requests.last_budget_tokens)
        await session.commit.run(lambda log: _check_room(log, session, message_id, most))
    await store.append(lambda history: history.pin(message_id, pinned=pinned, reason=reason, time=time))


def _check_room(log: Log, session: Session, message_id: str, most_tokens: int) -> None:
    log.follow()
    index: Index = log.index
    held = set(index.pins) | {index.find_all([message_id]).get(message_id, -1)}
    live = [ordinal for ordinal in sorted(held) if ordinal >= 0 and index.is_live(ordinal)]
    tokens = sum(map(session.count, log.read(live)))
    if tokens > most_tokens:
        raise PinError(
            f"with this message pins would hold {tokens:,} tokens, and {most_tokens:,} is the most; "
            "let go of another one first, or write down what matters of it"
        )
