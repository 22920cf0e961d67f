"""What can be configured: the table of keys, and the keys of other modules.

A key is declared once, in `option_table`, with its type, its default, what it allows and what it means; the managers
take the keys as arguments, and the documentation is held to them by tests.
"""

from .checked_config import RECALL_LEAST_TOKENS, Config, Options
from .option_table import GROUPS, NATIVE, STRATEGIES, SUMMARIZE

__all__ = ["GROUPS", "NATIVE", "RECALL_LEAST_TOKENS", "STRATEGIES", "SUMMARIZE", "Config", "Options"]
