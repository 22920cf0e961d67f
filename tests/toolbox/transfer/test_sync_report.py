"""What a sync says of a session, for programs."""

from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.relation_of_copies import Parting
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.sync_step import Step, What


def test_a_parted_session_says_where_its_histories_part() -> None:
    """By the record and the turn, and the time of the last message that both have, if it has one."""
    told = Step("s", What.PARTED, parting=Parting(7, 3, "2026-01-05T09:00:00Z", is_one_purged=False)).to_json()
    assert told["parted"] == {"record": 7, "turn": 3, "after": "2026-01-05T09:00:00Z"}
    assert Step("s", What.PARTED, parting=Parting(7, 3, "", is_one_purged=False)).to_json()["parted"]["after"] is None
    assert "parted" not in Step("s", What.LEFT).to_json()
