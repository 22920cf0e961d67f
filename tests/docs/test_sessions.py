"""`docs/sessions.md` names what the code emits and shows a mount plan that works."""

from amplifier_module_context_persistent.session.host import EVENTS
from tests.support.places import DOCS

PAGE = (DOCS / "sessions.md").read_text(encoding="utf-8")


def test_every_event_is_named() -> None:
    """Each event that the module contributes is documented."""
    assert EVENTS
    assert [event for event in EVENTS if f"`{event}`" not in PAGE] == []
