"""Images and files in events of GitHub Copilot CLI: what a person attached, and what tools returned to the model.

Their data is in the event itself (`data`), or in a `session.binary_asset` of the same file (`assetId`). Source:
`session-events.ts` of github/copilot-sdk of August 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ....forms.canonical import base64_source, medium
from ....messages.message import Message
from ..imports.spool import SpooledValues
from .account import Account
from .fields import items, mapping, text

ASSET = "session.binary_asset"


@dataclass(slots=True)
class Assets:
    """The data of images and files that events of a file refer to, by the id of the asset."""

    aside: SpooledValues
    """Stores the events of the file, each with its line number."""
    places: dict[str, int] = field(default_factory=dict)
    """The place of the event with each asset."""
    used: set[str] = field(default_factory=set)
    """The ids of the assets that a message or a result refers to."""

    def note(self, kind: str, data: dict[str, Any], place: int) -> None:
        """Note an event that has an asset, or refers to one."""
        if kind == ASSET:
            self.places[text(data.get("assetId"))] = place
        elif "attachments" in data or "result" in data:
            self.used.update(text(attachment.get("assetId")) for attachment in (*_attached(data), *_returned(data)))

    def is_used(self, kind: str, data: dict[str, Any]) -> bool:
        """Return whether an event has an asset that becomes a part of a message."""
        return kind == ASSET and text(data.get("assetId")) in self.used

    def attached_media(self, data: dict[str, Any], line: int, account: Account) -> list[Message]:
        """Return the blocks of what a person attached to a message. What the file does not have is noted as lost."""
        return list(self._media(_attached(data), line, account))

    def returned_media(self, data: dict[str, Any], line: int, account: Account) -> list[Message]:
        """Return the blocks of the images and files in a tool's result. What the file lacks is noted as lost."""
        return list(self._media(_returned(data), line, account))

    def _media(self, found: list[dict[str, Any]], line: int, account: Account) -> Iterator[Message]:
        for attachment in found:
            body = text(attachment.get("data")) or self._body_of(text(attachment.get("assetId")))
            media_type = text(attachment.get("mimeType"))
            if body:
                kind = "image" if media_type.startswith("image/") else "document"
                yield medium(kind, base64_source(body, media_type), text(attachment.get("displayName")))
            else:
                reason = text(attachment.get("omittedReason")) or "the file does not have it"
                account.lose_part(line, f"an attachment of the type {media_type[:60]!r}: {reason[:60]}")

    def _body_of(self, asset_id: str) -> str:
        place = self.places.get(asset_id)
        if place is None:
            return ""
        _, event = self.aside.get(place)
        return text(mapping(event.get("data")).get("data"))


def without_media(attachments: list[Any]) -> list[Any]:
    """Return the attachments of a message that name files, places in files and pages."""
    return [attachment for attachment in attachments if mapping(attachment).get("type") != "blob"]


def _attached(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [attachment for attachment in items(data.get("attachments")) if mapping(attachment).get("type") == "blob"]


def _returned(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the images and files in a result that the model got, or else those that a tool returned."""
    result = mapping(data.get("result"))
    for_model = [content for content in items(result.get("binaryResultsForLlm")) if isinstance(content, dict)]
    return for_model or [
        content for content in items(result.get("contents")) if mapping(content).get("type") == "image"
    ]
