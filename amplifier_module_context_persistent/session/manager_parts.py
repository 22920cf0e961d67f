"""The parts of a context manager: the objects that its methods hand their work to, each with a module of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..config import Config
from ..tokens.meter import Meter
from .add_messages import Additions
from .choose_log import ChosenLog
from .host import Host
from .pending_requests import PendingRequests
from .redact_on_write import RedactionOnWrite
from .request_flow import RequestFlow
from .session_identity import SessionIdentity
from .store import Store


@dataclass(frozen=True, slots=True)
class ManagerParts:
    """The parts of one manager."""

    store: Store
    """Opens the log at the first use, reads from it, appends to it, and closes it."""
    additions: Additions
    """Adds messages: `add_message`, `add_messages`."""
    requests: RequestFlow
    """Makes the view of each request, compacts, and takes in what a provider answers, reports and refuses."""
    meter: Meter
    """Learns how far its token counts are from the counts that providers report (`claim_usage`)."""
    redaction: RedactionOnWrite
    """Replaces secrets before messages are stored, with the option `redact_on_write`."""


def make_parts(
    config: Config,
    host: Host,
    chosen: ChosenLog,
    *,
    identity: SessionIdentity,
    now: Callable[[], str],
    new_id: Callable[[], str],
) -> ManagerParts:
    """Make the parts of one manager. Arguments are those of the manager, and the log that was chosen."""
    session_id = identity.session_id
    corrects = config.token_meter == "actual"  # noqa: S105 - tokens of text
    meter = Meter(enabled=corrects, session_id=session_id)
    store = Store(
        config,
        host,
        meter,
        chosen,
        identity=identity,
        now=now,
        new_id=new_id,
    )
    pending = PendingRequests(session_id, names_makers=not config.receipts)
    redaction = RedactionOnWrite(host, is_on=config.redact_on_write)
    additions = Additions(
        config, host, store=store, meter=meter, pending=pending, redaction=redaction, now=now, new_id=new_id
    )
    requests = RequestFlow(
        config, host, store, meter, pending, session_id=session_id, is_child_session=identity.parent_id is not None
    )
    return ManagerParts(store, additions, requests, meter, redaction)
