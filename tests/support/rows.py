"""Rows of an index, of which a test names what it is about."""

from amplifier_module_context_persistent.log.index import USER, Row


def row(
    *,
    offset: int = 0,
    length: int = 1,
    role: int = USER,
    flags: int = 0,
    id_hash: int = 0,
    seed: int = 0,
    check: int = 0,
    answered_by: int = 0,
    plain_user: int = 0,
) -> Row:
    """What the columns hold of one message."""
    return offset, length, role, flags, id_hash, seed, check, answered_by, plain_user
