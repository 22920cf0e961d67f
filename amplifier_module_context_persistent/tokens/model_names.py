"""The names of models, which gateways and hosts write with prefixes, dates and variants.

There are two rules, for two questions:

- Prices and price steps (`is_name_of`): a name means a known model only if all of its ending is recognised. A variant
  that is not recognised has no price, rather than a wrong one.
- Which reasoning a reader takes (`bare_name`): the prefix and the date are removed from any name. Receipts of views
  depend on the result, so a change of this rule needs a new version of `RULES` in `view/recipients`, as
  `first_bare_name` is the rule of the first version. It leaves builds of four digits and the variant `[1m]` in place.

Records keep the name unchanged, unless it is too long (`kept_name`).
"""

from __future__ import annotations

import re
from functools import lru_cache

NAME_CHARS = 64
"""The most characters of a provider's or a model's name that records keep."""

_SUFFIX = r"(?:[-@](?:latest|\d{4}-?\d{2}-?\d{2}|\d{3,4}))?(?:-v\d+)?(?::\w+)?(?:\[1m\])?"
"""The possible endings of a model's name: a date or build, a host's version, or a router's or an agent's variant."""


def plain_model_name(model: str) -> str:
    """Return a model's name in lower case, with hyphens for dots in its version, as some routers write the name."""
    return re.sub(r"(?<=\d)\.(?=\d)", "-", model.lower())


def is_name_of(model: str, known: str) -> bool:
    """Return whether a name means a known model. The name may have a router's prefix and a date.

    Both names are in the form of `plain_model_name`.
    """
    return re.fullmatch(rf"(?:.*[/.])?{re.escape(known)}{_SUFFIX}", model) is not None


def undated_name(model: str) -> str:
    """Return a model's plain name without a date, build or variant at its end."""
    return re.sub(rf"(?<=.){_SUFFIX}\Z", "", plain_model_name(model), count=1)


_SNAPSHOT = re.compile(r"(?:[-@](?:latest|\d{4}-?\d{2}-?\d{2}|\d{3}))?(?:-v\d+)?(?::\w+)?$")
_GATEWAY = re.compile(r"^.*?(?<![a-z0-9])(?=claude|gpt-|chatgpt-|codex|gemini|o\d)")
"""The prefix that gateways add to a model's name: a region, a vendor, their own name."""


def bare_name(model: str) -> str:
    """Return a model's name without a gateway's prefix and without the date at its end. Points become hyphens."""
    return _GATEWAY.sub("", first_bare_name(model))


@lru_cache(maxsize=256)
def first_bare_name(model: str) -> str:
    """Return the part of a model's name after the last slash, without the date at its end. Points become hyphens."""
    return _SNAPSHOT.sub("", model.lower().rpartition("/")[2]).replace(".", "-")


@lru_cache(maxsize=256)
def kept_name(name: str) -> str:
    """Return a provider's or a model's name in the form that records keep.

    Only the part after the last slash is kept of a long name: the ARN of an inference profile is longer than
    `NAME_CHARS`, and ends with the name of the model (Amazon Bedrock User Guide, Inference profiles).
    """
    if len(name) <= NAME_CHARS:
        return name
    return (name.rpartition("/")[2] or name)[:NAME_CHARS]
