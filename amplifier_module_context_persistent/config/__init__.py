"""Configuration: the table of our keys, and the keys of other modules.

A key is declared once, in `option_table`, with its type, its default, the allowed values and its meaning. The managers
take the keys as arguments; tests compare the documentation with the table.

Where things are done:
- a key, its default and its meaning: `option_table`; the values it allows: `checks`;
- a value, an unknown key or two keys that contradict each other are refused: `checked_config`; the sentence about an
  unknown key, with the nearest known one: `unknown_keys`;
- keys of other modules, and keys of ours that are gone: `foreign_keys`.
"""

from .checked_config import RECALL_LEAST_TOKENS, Config, Options
from .option_table import GROUPS, NATIVE, STRATEGIES, SUMMARIZE

__all__ = ["GROUPS", "NATIVE", "RECALL_LEAST_TOKENS", "STRATEGIES", "SUMMARIZE", "Config", "Options"]
