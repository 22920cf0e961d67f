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
    text = searched.text
    found = list[Secret]()
    if "Secret" not in text:
        return found
    done = 0
    for kind in _KIND.finditer(text):
        manifest_start = max(done, text.rfind("\n---", done, kind.start()))
        manifest_end = text.find("\n---", kind.end())
        if manifest_end < 0:
            manifest_end = len(text)
        done = manifest_end
        start = max(manifest_start, kind.start() - _AROUND_CHARS)
        end = min(manifest_end, kind.end() + _AROUND_CHARS)
        for data in [*_BLOCK.finditer(text, start, end), *_OBJECT.finditer(text, start, end)]:
            for setting in _SETTING.finditer(text, data.start("settings"), data.end("settings")):
                value = setting["secret"]
                if not is_placeholder(value) and not is_template(value):
                    found.append(Secret.of(setting, "value of a Kubernetes Secret"))
    return found
