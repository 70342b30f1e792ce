"""Results that are more than a value: pictures, sounds, files, links, and results put together by hand."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Block = dict[str, Any]
"""A content block as the protocol writes it."""


@dataclass(frozen=True)
class Text:
    """A piece of text, written as it is and not as a JSON string."""

    text: str

    def block(self) -> Block:
        """Write it as the protocol does."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True)
class Image:
    """A picture."""

    data: bytes = field(repr=False)
    mime_type: str = "image/png"

    def block(self) -> Block:
        """Write it as the protocol does."""
        return {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True)
class Audio:
    """A sound."""

    data: bytes = field(repr=False)
    mime_type: str = "audio/wav"

    def block(self) -> Block:
        """Write it as the protocol does."""
        return {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True)
class Resource:
    """A file that is part of the result: text or bytes, under an address."""

    uri: str
    content: str | bytes = field(repr=False)
    mime_type: str | None = None

    def block(self) -> Block:
        """Write it as the protocol does."""
        resource: Block = {"uri": self.uri}
        if isinstance(self.content, bytes):
            resource["mimeType"] = self.mime_type or "application/octet-stream"
            resource["blob"] = _base64(self.content)
        else:
            resource["mimeType"] = self.mime_type or "text/plain"
            resource["text"] = self.content
        return {"type": "resource", "resource": resource}


@dataclass(frozen=True)
class ResourceLink:
    """A pointer to a resource that the client may read later."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None

    def block(self) -> Block:
        """Write it as the protocol does."""
        optional = {"title": self.title, "description": self.description, "mimeType": self.mime_type}
        known = {key: value for key, value in optional.items() if value is not None}
        return {"type": "resource_link", "uri": self.uri, "name": self.name, **known}


Content = Text | Image | Audio | Resource | ResourceLink
"""Everything that becomes a content block by itself."""


@dataclass(frozen=True)
class Result:
    """A result put together by hand, for handlers that want to decide everything.

    `content` may hold content and plain values, which become text. `structured` must be a mapping.
    """

    content: Sequence[Content | Any] = ()
    structured: Mapping[str, Any] | None = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


CONTENT_TYPES: tuple[type, ...] = (Text, Image, Audio, Resource, ResourceLink)
"""The members of `Content`, for `isinstance`."""


def bytes_block(data: bytes) -> Block:
    """Write bytes that came without a name: as a file, whose address only says that it has no other."""
    return Resource("toolgate:result", data).block()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
