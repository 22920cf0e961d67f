"""The formats of others that sessions are exported into."""

from __future__ import annotations

from .atif import Atif
from .otlp import Otlp
from .request_bodies import AnthropicBody, OpenAIBody
from .session_view import Exporter

EXPORTERS: dict[str, Exporter] = {
    exporter.name: exporter for exporter in (Atif(), OpenAIBody(), AnthropicBody(), Otlp())
}
