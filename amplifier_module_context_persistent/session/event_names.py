"""The names of all events that a session emits. `mount` announces them to the host.

`docs/events.md` says when each event is emitted, and what it contains.
"""

EVENTS = (
    "context:pre_compact",
    "context:post_compact",
    "context:compaction",
    "context:compaction_started",
    "context:compaction_finished",
    "context:compaction_futile",
    "context:include",
    "context:message_added:debug",
    "context:set_messages_ignored",
    "context:set_messages_taken",
    "context:transcript_edited",
    "context:redacted_on_write",
    "context:usage",
    "context:summary",
    "context:summary_failed",
    "context:native_compaction",
    "context:native_fallback",
    "context:degraded",
    "context:log_lost_tail",
    "context:system_prompt_restored",
    "context:plan_not_stored",
    "context:reasoning_left_out",
    "context:reasoning_refused",
    "context:prefill_refused",
)
