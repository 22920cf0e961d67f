"""The demonstration: kill a session in the middle of a turn, resume it, and check what was acknowledged."""
