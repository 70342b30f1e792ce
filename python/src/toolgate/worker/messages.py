"""The words of the protocol, and messages as bytes.

Two eras: until 2025-11-25 a client introduces itself once, with `initialize`; from 2026-07-28 on every request says in
its `_meta` what it needs to.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

import toolgate

MODERN = "2026-07-28"
"""The revision without a handshake."""

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions with a handshake, newest first."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
EXECUTION_ERROR = -32005
UNSUPPORTED_VERSION = -32022

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CALLER = "io.toolgate/caller"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"

SERVER_INFO = {"name": "toolgate-worker", "version": toolgate.__version__}
_SERVER_META = b'"io.modelcontextprotocol/serverInfo":' + to_json(SERVER_INFO)

_MODERN_END = b',"resultType":"complete","_meta":{' + _SERVER_META + b"}}}\n"

# Lists change only when the worker is replaced, and they are the same for everybody.
_CACHEABLE = b',"ttlMs":60000,"cacheScope":"public"'


def result(request_id: Any, members: bytes, meta: bytes, modern: bool, *, cacheable: bool = False) -> bytes:
    """Write an answer, given the members of the result and of its `_meta`."""
    if members and not meta and not cacheable and type(request_id) is int:
        # What a call mostly ends with.
        return b'{"jsonrpc":"2.0","id":%d,"result":{%b%b' % (request_id, members, _MODERN_END if modern else b"}}\n")
    start = b'{"jsonrpc":"2.0","id":' + to_json(request_id) + b',"result":{'
    if modern:
        separator = b"," if members else b""
        members += separator + b'"resultType":"complete"'
        if cacheable:
            members += _CACHEABLE
        meta = _SERVER_META + b"," + meta if meta else _SERVER_META
    if meta:
        separator = b"," if members else b""
        return start + members + separator + b'"_meta":{' + meta + b"}}}\n"
    return start + members + b"}}\n"


def answer(request_id: int, members: bytes) -> bytes:
    """Write what a call in short mostly ends with: a result of the legacy era that has members and no `_meta`."""
    return b'{"jsonrpc":"2.0","id":%d,"result":{%b}}\n' % (request_id, members)


def input_required(request_id: Any, requests: dict[str, Any], state: str) -> bytes:
    """Write the answer that asks for more, of the modern era."""
    body = {"resultType": "input_required", "inputRequests": requests, "requestState": state}
    return b'{"jsonrpc":"2.0","id":' + to_json(request_id) + b',"result":' + to_json(body) + b"}\n"


def error(request_id: Any, code: int, message: str, data: Any = None) -> bytes:
    """Write an answer that says why there is none."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return to_json({"jsonrpc": "2.0", "id": request_id, "error": body}, fallback=str) + b"\n"


def request(request_id: str, method: str, params: dict[str, Any]) -> bytes:
    """Write a request of ours."""
    return to_json({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"


def notification(method: str, params: dict[str, Any]) -> bytes:
    """Write a notification."""
    return to_json({"jsonrpc": "2.0", "method": method, "params": params}, fallback=str) + b"\n"
