"""What a handler returned, written as a tool result: structured content for programs, content blocks for models.

The bytes are put together by hand. This runs once per call, and building a dictionary only to serialise it would cost
more than many handlers do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from toolgate.content import CONTENT_TYPES, Block, Result, bytes_block
from toolgate.errors import ToolError

if TYPE_CHECKING:
    from toolgate.schema import Output

Written = tuple[bytes, bytes]
"""The members of a result, and those of its `_meta`, both without the braces around them."""

LONGEST_MESSAGE = 4000
"""How many characters of an exception's message are passed on."""
_QUOTE = ord('"')


def writer(output: Output | None) -> Callable[[Any], Written]:
    """Return what writes the values of a handler as tool results.

    It raises a `ToolError` for a value that has no JSON form, or not the one that was declared.
    """
    if output is None:
        return _write
    plain = output.plain

    def write(value: Any) -> Written:
        try:
            written = to_json(value) if type(value) is plain else output.write(value)
        except ValueError as error:
            raise ToolError(f"the handler returned a {type(value).__name__}, which is not what it declares") from error
        return _value(written, output.is_wrapped), b""

    return write


def _write(value: Any) -> Written:
    if value is None:
        return b'"content":[]', b""
    if isinstance(value, Result):
        return _by_hand(value)
    if _has_content(value):
        parts = value if isinstance(value, (list, tuple)) else [value]
        return b'"content":' + to_json([_block(part) for part in parts]), b""
    written = _json(value)
    return _value(written, not written.startswith(b"{")), b""


def message_of(error: BaseException) -> str:
    """Tell what an exception says, in characters that JSON has: half of a surrogate pair is none of them."""
    try:
        message = str(error)[:LONGEST_MESSAGE]
    except BaseException as flaw:
        return f"its message cannot be read ({type(flaw).__name__})"
    return message.encode("utf-8", "backslashreplace").decode()


def write_failure(error: BaseException, traceback: str | None) -> Written:
    """Write an exception as a tool result that a model can read and react to."""
    message = message_of(error)
    kind = type(error).__name__
    told = isinstance(error, ToolError)
    text = message if told and message else f"{kind}: {message}" if message else kind
    about: dict[str, Any] = {"code": -32005, "type": kind, "retryable": False}
    if isinstance(error, ToolError):
        about["retryable"] = error.retryable
        if error.details is not None:
            about["details"] = error.details
    if traceback is not None:
        about["traceback"] = traceback.encode("utf-8", "backslashreplace").decode()
    content = to_json([{"type": "text", "text": text}])
    return b'"content":' + content + b',"isError":true', b'"io.toolgate/error":' + to_json(about, fallback=str)


def _value(written: bytes, is_wrapped: bool) -> bytes:
    # What is a JSON text, dates and amounts included, is shown without quotes; everything else as its JSON.
    text = written if written[0] == _QUOTE else to_json(written.decode())
    if is_wrapped:
        return b'"content":[{"type":"text","text":%b}],"structuredContent":{"result":%b}' % (text, written)
    return b'"content":[{"type":"text","text":%b}],"structuredContent":%b' % (text, written)


def _by_hand(result: Result) -> Written:
    members: dict[str, Any] = {"content": [_block(part) for part in result.content]}
    if result.structured is not None:
        members["structuredContent"] = dict(result.structured)
        if not result.content:
            members["content"] = [{"type": "text", "text": _json(result.structured).decode()}]
    if result.is_error:
        members["isError"] = True
    return _json(members)[1:-1], _json(dict(result.meta or {}))[1:-1]


def _has_content(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(isinstance(part, (*CONTENT_TYPES, bytes)) for part in value)
    return isinstance(value, (*CONTENT_TYPES, bytes))


def _block(part: Any) -> Block:
    if isinstance(part, CONTENT_TYPES):
        block: Block = part.block()  # type: ignore[attr-defined]
        return block
    if isinstance(part, bytes):
        return bytes_block(part)
    return {"type": "text", "text": part if isinstance(part, str) else _json(part).decode()}


def _json(value: Any) -> bytes:
    try:
        return to_json(dict(value) if isinstance(value, Mapping) else value, by_alias=True)
    except PydanticSerializationError as error:
        raise ToolError(f"the handler returned a {type(value).__name__}, which has no JSON form: {error}") from error
