"""Business functions as MCP tools.

Put `@handler` on functions and methods, and serve them with `python -m toolgate.worker module_or_path…`.
"""

from toolgate.content import Audio, Content, Image, Resource, ResourceLink, Result, Text
from toolgate.context import Answer, Caller, Context, Level
from toolgate.declaration import handler, register
from toolgate.errors import (
    CallCancelledError,
    ElicitationUnavailableError,
    HandlerError,
    ProtocolError,
    ToolError,
)

__all__ = [
    "Answer",
    "Audio",
    "CallCancelledError",
    "Caller",
    "Content",
    "Context",
    "ElicitationUnavailableError",
    "HandlerError",
    "Image",
    "Level",
    "ProtocolError",
    "Resource",
    "ResourceLink",
    "Result",
    "Text",
    "ToolError",
    "handler",
    "register",
]

__version__ = "0.1.0"
