"""Secrets that programs print after fixed words, often only once: `Unseal Key 1: …`, `New value: …`.

`_ANNOUNCED` has an alternative for each known line of output. Lines such as `Password: x` are not among them, because
`named_values` finds these.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import is_example, is_mixed, is_placeholder, is_template
from .searched_text import Beginnings, SearchedText

_LEAST_CHARS = 8
_ANNOUNCED = re.compile(
    r"""
    (?: a[ ]temporary[ ]password[ ]is[ ]generated[ ]for[ ][^\s:]{1,80}:[ ]
      | (?:unseal|recovery)[ ]key[ ][0-9]{1,2}:[ ] | initial[ ]root[ ]token:[ ]+
      | successfully[ ]reset\.\s{0,10}\n[ \t]{0,20}new[ ]value:[ ]
      | generated[ ]password[ ]for[ ][^\n:]{1,80}:[ ]
      | password[ ]for[ ]sys[ ][^\n:]{0,40}:[ ] | generated[ ]root[ ]password:[ ]
      | (?:use|with)[ ]the[ ]following[ ]password(?:[ ](?:to|for|as|in|when)[ ][^\n:]{0,60})?:\s{1,10}
      | certificate(?:-key[ =]|[ ]key:\s{1,10})(?=[0-9a-f]{64}\b)
      | argocd[ ]admin[ ]initial-password\b[^\n]{0,80}\n\s{0,20}
      | password[ ](?:elastic|kibana|(?:kibana|logstash|beats|apm)_system|remote_monitoring_user)[ ]=[ ]
      | (?:cat|more|less|head|tail|type)[ ][^\n|;]{0,100}
        (?:\.erlang\.cookie|initialadminpassword|node-token|admin\.password|\.vault-token)
        ["']?[ \t\r]{0,4}\n\s{0,20} )
    (?P<secret>[!-~]{6,400})
    """,
    re.VERBOSE,
)
"""The known lines; matched in lower case."""
_BEGINNINGS = Beginnings(
    (
        *("a temporary password is generated ", "unseal key ", "recovery key ", "initial root token"),
        *("successfully reset.", "generated password for ", "password for sys", "generated root password"),
        *("use the following password", "with the following password", "certificate-key", "certificate key"),
        *("password elastic =", "password kibana =", "password kibana_system =", "password logstash_system ="),
        *("password beats_system =", "password apm_system =", "password remote_monitoring_user ="),
        *("argocd admin initial-password", "cat ", "more ", "less ", "head ", "tail ", "type "),
    )
)


def find_announced(searched: SearchedText) -> list[Secret]:
    """Find the secrets that programs print after the fixed words in `_ANNOUNCED`."""
    text = searched.text
    found = list[Secret]()
    for announcement in _BEGINNINGS.matches(_ANNOUNCED, searched, is_folded=True):
        start = announcement.start("secret")
        value = text[start : announcement.end("secret")].rstrip("\"'`,;")
        if len(value) >= _LEAST_CHARS and _is_secret(value):
            found.append(Secret(start, start + len(value), "secret that a program announces"))
    return found


def _is_secret(value: str) -> bool:
    if value.startswith(("/", "~", "./", "$", "<", "-")) or "://" in value:
        return False
    is_of_letters = value.isalpha() and not (value.islower() or value.isupper() or value.istitle())
    return (is_mixed(value) or is_of_letters) and not (is_placeholder(value) or is_template(value) or is_example(value))
