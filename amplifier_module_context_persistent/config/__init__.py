"""What can be configured: the table of keys, keys of other modules, and the keys typed for editors.

A key is declared once, in `table`, with its default, what it allows and what it means; the documentation and the typed
constructors are held to it by tests.
"""

from .option_table import GROUPS, NATIVE, RECALL_LEAST_TOKENS, STRATEGIES, SUMMARIZE, Config
from .typed_options import Options

__all__ = ["GROUPS", "NATIVE", "RECALL_LEAST_TOKENS", "STRATEGIES", "SUMMARIZE", "Config", "Options"]
