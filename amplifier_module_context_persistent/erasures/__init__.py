"""The record of what was erased here, without its text, so that nothing brings it back.

An *erasure* is the note that a session was deleted, or that messages or a text were purged from it. Purges and
deletions write it, and imports, syncs and a running session's `set_messages` apply it.

Where things are done:
- what an erasure says: `erasure_record`;
- the lists of erasures, in homes, in directories with copies, and in databases: `erasure_list`;
- the rule by which a purged text is found again: `text_rule`;
- which purges a log has records of, and their erasures: `purges_of_log`.
"""
