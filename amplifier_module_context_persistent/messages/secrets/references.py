"""Values that only refer to a secret: expressions of templates, and names of secrets in a deployment."""

from __future__ import annotations

import re

from .found import Secret

_AROUND_CHARS = 300
_OPENS = re.compile(r"(?:\{\{|\{%|<%)(?:(?!\}\}|%\}|%>)[^\n])*\Z")
_CLOSES = re.compile(r"(?:(?!\{\{|\{%|<%)[^\n])*?(?:\}\}|%\}|%>)")
_ENCRYPTED = re.compile(r"(?<![A-Za-z])(?:ENC\[[A-Z0-9_]{3,20},[^\]\s]*|ENC\((?=[A-Za-z0-9+/=]+\)))\Z")
"""An encrypted value in the form of SOPS, eyaml or Jasypt; its key is kept elsewhere."""
_ENCRYPTED_CHARS = 4_000
_SEALED_CHARS = 100
_QUOTES = ("'", '"', "`")
_SECRETS_BY_NAME = re.compile(r"--(?:set|update)-secrets[= ][\"']?[^\s\"']*\Z")
"""A flag of `gcloud` whose values are names of secrets: `--set-secrets=DB_PASSWORD=db-password:latest`."""


def is_reference(text: str, secret: Secret) -> bool:
    """Return whether a found secret only refers to a secret; a quoted text within a template does not."""
    before = text[max(0, secret.start - _AROUND_CHARS) : secret.start]
    if "-secrets" in before and _SECRETS_BY_NAME.search(before):
        return True
    if _is_encrypted(text, secret):
        return True
    may_be_in_template = "{{" in before or "{%" in before or "<%" in before
    if before.endswith(_QUOTES) or not may_be_in_template:
        return False
    is_opened = _OPENS.search(before) is not None
    return is_opened and _CLOSES.match(text, secret.end, secret.end + _AROUND_CHARS) is not None


def _is_encrypted(text: str, secret: Secret) -> bool:
    """Return whether a value is a ciphertext that is meant to be shown: of SOPS, or of a SealedSecret of Kubernetes."""
    if text.startswith(("ENC[", "ENC("), secret.start):
        return True
    near = max(0, secret.start - _ENCRYPTED_CHARS)
    if text.find("ENC", near, secret.start) >= 0 and _ENCRYPTED.search(text, near, secret.start):
        return True
    is_sealed = text.startswith("Ag", secret.start) and secret.end - secret.start >= _SEALED_CHARS
    return is_sealed and "encryptedData" in text
