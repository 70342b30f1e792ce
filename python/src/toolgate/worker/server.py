"""What a message means: requests, notifications and replies, of either era.

A plain handler's call is returned to the thread that read it, which runs it there and then. Everything else is done or
under way when `receive` returns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any

from pydantic_core import from_json, to_json

from toolgate.loading import Problem
from toolgate.registry import Registry
from toolgate.tool import Tool
from toolgate.worker import log, messages, short_calls
from toolgate.worker.call import Call
from toolgate.worker.loop import Loop
from toolgate.worker.messages import INVALID_PARAMS, INVALID_REQUEST
from toolgate.worker.questions import Questions
from toolgate.worker.streams import Output

MOST_CALLS = 1000
"""How many calls may be under way at a time."""

_STOPPING = "the worker is stopping"
_BUSY = f"the worker has {MOST_CALLS} calls under way and takes no more"
_CHANGED = "the handler has changed since it was listed, and wants to know more of its calls now"
_NO_ERA = f"send 'initialize' first, or put {messages.META_VERSION} and {messages.META_CAPABILITIES} into _meta"


class Peer:
    """What a legacy client said about itself when it came."""

    def __init__(self) -> None:
        self.version = ""
        """The revision that was agreed on; empty before `initialize`."""
        self.client_info: Any = None
        self.capabilities: Any = None
        self.log_level: Any = "info"


class Server:
    """The worker's side of the conversation."""

    def __init__(self, registry: Registry, problems: list[Problem], output: Output, *, development: bool) -> None:
        self.registry = registry
        self.output = output
        self.is_development = development
        self.is_behind_gateway = "TOOLGATE_GATEWAY" in os.environ
        """Whether what is said of callers comes from a gateway that checked it."""
        self.peer = Peer()
        self.calls: dict[Any, Call] = {}
        """The calls under way, by the id of the request that waits for the answer."""
        self.questions = Questions(self)
        self.loop = Loop(output)
        self.drained = Event()
        """Set when the worker is stopping and no call is left."""
        self.wake: Callable[[], None] = lambda: None
        """Tells the thread that supervises that there is a new deadline."""
        self.is_closed = False
        """Whether no calls are taken any more."""
        self._is_draining = False
        self._problems = [{"source": problem.source, "message": problem.message} for problem in problems]
        self._requests: dict[str, Callable[[Any, dict[str, Any], bool], bytes]] = {
            "tools/list": self._list,
            "server/discover": self._discover,
            "logging/setLevel": self._set_level,
        }

    def read(self, lines: list[bytes]) -> list[bytes] | list[list[Any]]:
        """Look at lines that came together; what comes back is to be received one by one."""
        return short_calls.unpacked(lines) if self.is_behind_gateway else lines

    def receive(self, line: bytes | list[Any]) -> Call | None:
        """Deal with one line; a call that is returned is to be run by whoever read it."""
        message: Any = line
        if type(line) is bytes:
            try:
                # Names come again with every call, values mostly do not.
                message = from_json(line, allow_inf_nan=False, cache_strings="keys")
            except ValueError as error:
                self.output.post(messages.error(_id_in(line), messages.PARSE_ERROR, f"unreadable: {error}"))
                return None
        try:
            if type(message) is list and self.is_behind_gateway:
                return self._called_in_short(message)
            return self._dispatched(message)
        except Exception as error:
            log.line("error", f"a message could not be dealt with: {log.traceback_of(error)}")
            request_id = message.get("id") if isinstance(message, dict) else message[0]
            self.output.post(messages.error(request_id, messages.INTERNAL_ERROR, "internal error"))
            return None

    def plain_handler(self, entry: list[Any]) -> Tool | None:
        """Find the handler of a call in short if it has only to be run, with arguments that were checked."""
        if short_calls.is_whole(entry):
            tool = self.registry.get(entry[1])
            if tool is not None and tool.is_plain and tool.mark == entry[3] and not tool.pace.is_in_doubt:
                return tool
        return None

    def made_known(self, tool: Tool, entry: list[Any]) -> Call:
        """Count a call in short that runs already among those under way."""
        call = Call(self, entry[0], tool, entry[2])
        self.calls[call.request_id] = call
        return call

    def finished(self, call: Call) -> None:
        """Forget a call that is over."""
        self.calls.pop(call.request_id, None)
        if call.questions:
            self.questions.forget(call)
        if self._is_draining and not self.calls:
            self.drained.set()

    def close(self) -> None:
        """Take no more calls."""
        self.is_closed = True

    def drain(self) -> None:
        """Set `drained` when the calls under way are done."""
        self._is_draining = True
        if not self.calls:
            self.drained.set()

    def abandon_all(self) -> None:
        """End the calls that are left with an error."""
        for call in list(self.calls.values()):
            log.line("warning", f"tool '{call.tool.name}' was still running when the worker stopped")
            call.abandon(_STOPPING)
        self.output.settle()

    def capabilities_of(self, call: Call) -> Any:
        """Return what the client behind a call can do."""
        return call.meta.get(messages.META_CAPABILITIES) if call.modern else self.peer.capabilities

    def _dispatched(self, message: Any) -> Call | None:
        if not isinstance(message, dict):
            what = "batches are not supported" if isinstance(message, list) else "a message is an object"
            self.output.post(messages.error(None, INVALID_REQUEST, what))
            return None
        method, request_id = message.get("method"), message.get("id")
        params = message.get("params", {})
        if not isinstance(method, str):
            self._without_method(message, request_id)
            return None
        if message.get("jsonrpc") != "2.0" or not isinstance(params, dict):
            what = "'jsonrpc' must be \"2.0\"" if isinstance(params, dict) else "'params' must be an object"
            self.output.post(messages.error(request_id, INVALID_REQUEST, what))
            return None
        if request_id is None:
            self._notified(method, params)
            return None
        if not isinstance(request_id, (int, str, float)) or isinstance(request_id, bool):
            self.output.post(messages.error(None, INVALID_REQUEST, "'id' must be a number or a text"))
            return None
        if method == "tools/call":
            return self._call(request_id, params)
        self.output.post(self._requested(request_id, method, params))
        return None

    def _call(self, request_id: Any, params: dict[str, Any]) -> Call | None:
        meta = params.get("_meta") or {}
        refusal, modern = self._era(request_id, meta)
        name, arguments = params.get("name"), params.get("arguments")
        if arguments is None:
            arguments = {}
        tool = self.registry.get(name)
        if refusal is None and tool is None:
            refusal = _unknown(request_id, name)
        elif refusal is None and not isinstance(arguments, dict):
            refusal = messages.error(request_id, INVALID_PARAMS, "'arguments' must be an object")
        elif refusal is None and "requestState" in params and modern:
            refusal = self._resumed(request_id, params, arguments, meta)
            if refusal is None:
                return None
        if refusal is not None or tool is None:
            self.output.post(refusal or b"")
            return None
        return self._begun(Call(self, request_id, tool, arguments, meta, modern))

    def _called_in_short(self, entry: list[Any]) -> Call | None:
        if not short_calls.is_whole(entry):
            request_id = entry[0] if entry and type(entry[0]) is int else None
            self.output.post(messages.error(request_id, INVALID_REQUEST, "an array must be [id, name, arguments, mark]"))
            return None
        request_id, name, arguments, mark = entry
        tool = self.registry.get(name)
        if tool is None:
            self.output.post(_unknown(request_id, name))
            return None
        if tool.needs_context:
            data = {"details": _CHANGED, "retryable": True, "retry_after": 1}
            self.output.post(messages.error(request_id, messages.EXECUTION_ERROR, _CHANGED, data))
            return None
        # Answered as in the era whose answers say no more than what came of the call.
        return self._begun(Call(self, request_id, tool, arguments), mark == tool.mark)

    def _begun(self, call: Call, are_checked: bool = False) -> Call | None:
        """Take a call in. A plain handler's is returned, to be run."""
        calls = self.calls
        if self.is_closed or len(calls) >= MOST_CALLS:
            reason = _STOPPING if self.is_closed else _BUSY
            data = {"details": reason, "retryable": True}
            self.output.post(messages.error(call.request_id, messages.EXECUTION_ERROR, reason, data))
            return None
        calls[call.request_id] = call
        if not call.is_acceptable(are_checked):
            return None
        if call.tool.is_async:
            self.loop.submit(call)
            return None
        return call

    def _resumed(
        self, request_id: Any, params: dict[str, Any], arguments: dict[str, Any], meta: Mapping[str, Any]
    ) -> bytes | None:
        state = str(params["requestState"])
        reason = self.questions.resume(state, params.get("name"), arguments, params.get("inputResponses"), request_id, meta)
        return None if reason is None else messages.error(request_id, INVALID_PARAMS, reason)

    def _era(self, request_id: Any, meta: Any) -> tuple[bytes | None, bool]:
        """Tell which era a request is of, or refuse it."""
        version = meta.get(messages.META_VERSION) if isinstance(meta, dict) else None
        if version == messages.MODERN:
            if isinstance(meta.get(messages.META_CAPABILITIES), dict):
                return None, True
            return messages.error(request_id, INVALID_PARAMS, f"_meta lacks {messages.META_CAPABILITIES}"), True
        if version is not None:
            data = {"supported": [messages.MODERN], "requested": version}
            return messages.error(request_id, messages.UNSUPPORTED_VERSION, "Unsupported protocol version", data), True
        if not self.peer.version or not isinstance(meta, dict):
            return messages.error(request_id, INVALID_PARAMS, _NO_ERA), False
        return None, False

    def _requested(self, request_id: Any, method: str, params: dict[str, Any]) -> bytes:
        if method == "initialize":
            return self._initialize(request_id, params)
        if method == "ping":
            return messages.result(request_id, b"", b"", modern=False)
        answer = self._requests.get(method)
        refusal, modern = self._era(request_id, params.get("_meta") or {})
        if answer is None:
            return messages.error(request_id, messages.METHOD_NOT_FOUND, f"unknown method: {method}")
        return refusal or answer(request_id, params, modern)

    def _initialize(self, request_id: Any, params: dict[str, Any]) -> bytes:
        wanted = params.get("protocolVersion")
        self.peer.version = wanted if wanted in messages.LEGACY else messages.LEGACY[0]
        self.peer.client_info = params.get("clientInfo")
        self.peer.capabilities = params.get("capabilities")
        members = {"protocolVersion": self.peer.version, "serverInfo": messages.SERVER_INFO, **self._about()}
        return messages.result(request_id, to_json(members)[1:-1], self._meta(), modern=False)

    def _discover(self, request_id: Any, _params: dict[str, Any], modern: bool) -> bytes:
        members = {"supportedVersions": [messages.MODERN], **self._about()}
        return messages.result(request_id, to_json(members)[1:-1], self._meta(), modern=modern, cacheable=True)

    def _about(self) -> dict[str, Any]:
        return {"capabilities": {"tools": {"listChanged": False}, "logging": {}}}

    def _meta(self) -> bytes:
        """Tell a gateway what it may send, and what could not be loaded, so that it need not search the log for it."""
        members = [short_calls.META_UNDERSTOOD] if self.is_behind_gateway else []
        if self._problems:
            members.append(b'"io.toolgate/problems":' + to_json(self._problems))
        return b",".join(members)

    def _list(self, request_id: Any, params: dict[str, Any], modern: bool) -> bytes:
        page = self.registry.page(params.get("cursor"))
        if page is None:
            return messages.error(request_id, INVALID_PARAMS, "unknown cursor; list again from the beginning")
        return messages.result(request_id, page, b"", modern=modern, cacheable=True)

    def _set_level(self, request_id: Any, params: dict[str, Any], modern: bool) -> bytes:
        self.peer.log_level = params.get("level")
        return messages.result(request_id, b"", b"", modern=modern)

    def _without_method(self, message: dict[str, Any], request_id: Any) -> None:
        if "result" in message or "error" in message:
            self.questions.answered(request_id, message)
        else:
            self.output.post(messages.error(request_id, INVALID_REQUEST, "the message has no 'method'"))

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/cancelled":
            target = params.get("requestId")
            call = self.calls.pop(target, None) if isinstance(target, (int, str, float)) else None
            if call is not None:
                call.cancel()


def _unknown(request_id: Any, name: Any) -> bytes:
    return messages.error(request_id, INVALID_PARAMS, f"unknown tool: {name}")


def _id_in(line: bytes) -> Any:
    """Find the id of a message that cannot be read, so that nobody waits for its answer in vain.

    What Python's own reader takes is JSON all the same: half of a surrogate pair, say, which no text can hold.
    """
    try:
        message = json.loads(line, parse_int=_short_number)
        if isinstance(message, list):
            message = {"id": message[0]} if message else {}
        found = message.get("id") if isinstance(message, dict) else None
        return found if type(found) is int or (type(found) is str and found.encode() is not None) else None
    except (ValueError, RecursionError):
        return None


def _short_number(text: str) -> int:
    # Python refuses to read numbers of thousands of digits; no id has so many.
    return int(text) if len(text) < 20 else 0
