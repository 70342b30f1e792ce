"""What can go wrong, as exceptions: some that handlers raise, some that tell why a handler was refused."""

from __future__ import annotations

from typing import Any


class ToolError(Exception):
    """Raise it in a handler to end the call with exactly this message, which the model reads.

    Any other exception ends the call too, but its message is shown with the name of its type before it.
    """

    def __init__(self, message: str, *, details: Any = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.details = details
        """Something that a program can read, in JSON types."""
        self.retryable = retryable
        """Whether the same call may succeed later."""


class ProtocolError(Exception):
    """Raise it in a handler to end the call with a JSON-RPC error, which the client's program reads, not the model."""

    def __init__(self, message: str, *, code: int = -32005, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class CallCancelledError(Exception):
    """The client no longer wants the result. Raised by `Context.raise_if_cancelled` and by questions that are open."""


class ElicitationUnavailableError(ToolError):
    """The client cannot be asked this: it does not have the capability, or the question stayed unanswered too long."""


class HandlerError(Exception):
    """A handler cannot be served, or its question not be asked. The message says which, where, and what to change."""
