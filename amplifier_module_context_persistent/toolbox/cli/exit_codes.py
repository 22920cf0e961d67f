"""The exit codes of all commands.

They follow grep and the shells: 1 is an answer ("nothing found", "damaged"), 2 is a failure.
"""

DONE = 0
FINDINGS = 1
"""Something was found, was not found, or could not be read or proved; each command's help says which."""
UNUSABLE = 2
"""Nothing was done: the input cannot be used, or the user refused."""
INTERRUPTED = 130
"""The code with which a shell reports a process that SIGINT ended."""
NO_READER = 141
"""The code with which a shell reports a process that SIGPIPE ended."""
