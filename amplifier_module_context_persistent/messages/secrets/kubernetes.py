"""Values of a Kubernetes Secret under any key: `kubectl get secret -o yaml`, manifests, JSON.

The values are below `data` in base64, or below `stringData` as plain text, before or after the line `kind: Secret`.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import is_placeholder, is_template
from .searched_text import SearchedText

_KIND = re.compile(r"\bkind\\*[\"']?:[ ]?\\*[\"']?Secret\b(?!\w)")
_BLOCK = re.compile(
    r"^(?P<indent>[ \t]{0,40})(?:data|stringData):[ \t]*\r?\n"
    r"(?P<settings>(?:(?P=indent)[ \t]{1,20}[\"']?[\w.-]{1,253}[\"']?:[ ]*[^\n]{0,100000}(?:\n|\Z)){1,200})",
    re.MULTILINE,
)
"""The indented lines below `data` in YAML."""
_OBJECT = re.compile(r"(?<![\w.-])(?:data|stringData)\\*[\"']?:\s{0,4}\{(?P<settings>[^{}]{1,200000})")
"""The object under `data` in JSON."""
_SETTING = re.compile(r"[\w.-]{1,253}\\*[\"']?:[ ]*\\*[\"']?(?P<secret>[^\s\"'\\,{}]{4,100000})")
_AROUND_CHARS = 100_000


def find_in_kubernetes_secrets(searched: SearchedText) -> list[Secret]:
    """Find the values of the Kubernetes Secrets in a text."""
    text, found = searched.text, list[Secret]()
    done = 0
    if "Secret" not in text:
        return found
    for kind in _KIND.finditer(text):
        start, end = max(done, text.rfind("\n---", done, kind.start())), text.find("\n---", kind.end())
        done = len(text) if end < 0 else end
        near = max(start, kind.start() - _AROUND_CHARS), min(done, kind.end() + _AROUND_CHARS)
        for data in (*_BLOCK.finditer(text, *near), *_OBJECT.finditer(text, *near)):
            for setting in _SETTING.finditer(text, *data.span("settings")):
                value = setting["secret"]
                if not (is_placeholder(value) or is_template(value)):
                    found.append(Secret(*setting.span("secret"), "value of a Kubernetes Secret"))
    return found
