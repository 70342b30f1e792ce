"""One tool call, from its request to its answer.

A call has exactly one answer, but not always one request: one that asks its user something in the modern era ends its
request with the question, is *parked*, and is carried on by the client's next request. While it is parked there is no
request that could be answered, so an outcome that arrives then is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from toolgate import results
from toolgate.context import Caller, Context, Level
from toolgate.errors import CallCancelledError, ProtocolError, ToolError
from toolgate.tool import Tool
from toolgate.worker import log, messages

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from toolgate.worker.server import Server

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The metadata of a call that came without."""
MOST_ERRORS = 20
"""How many faults of the arguments are named in an answer."""

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Call:
    """A call on its way. It is the `Link` behind the handler's context."""

    # What few calls have is said here, where it costs the others nothing.
    task: asyncio.Task[None] | None = None
    _outcome: Callable[[Any], bytes] | None = None

    def __init__(
        self,
        server: Server,
        request_id: Any,
        tool: Tool,
        arguments: dict[str, Any],
        meta: Mapping[str, Any] = NOTHING,
        modern: bool = False,
    ) -> None:
        self.server = server
        self.request_id = request_id
        """The request that the answer goes to; nothing while the call is parked."""
        self.tool = tool
        self.arguments = arguments
        self.meta = meta
        self.modern = modern
        self.is_cancelled = False
        self.send: Callable[[bytes], None] = server.output.send
        """How answers go out; whoever runs the call may know a cheaper way."""
        self.questions: dict[str, tuple[dict[str, Any], Future[dict[str, Any]]]] = {}
        """What was asked and not answered yet, by the key of the question."""
        self._positional: list[Any]
        self._keywords: dict[str, Any]

    def is_acceptable(self, are_checked: bool) -> bool:
        """Validate the arguments, unless somebody has; where they do not fit, the answer is given and the call is over."""
        tool = self.tool
        try:
            context = Context(self) if tool.needs_context else None
            self._positional, self._keywords = tool.prepare(self.arguments, context, are_checked)
        except ValidationError as error:
            data = _faults(error)
            self._answer(lambda to: messages.error(to, messages.INVALID_PARAMS, f"invalid arguments: {data['details']}", data))
            return False
        except Exception as error:
            # A validator of the handler's own failed, and not over the value.
            self.fail(error)
            return False
        return True

    def run(self) -> None:
        """Run a plain handler, in this thread."""
        if self.is_cancelled:
            return
        try:
            self.complete(self.tool.write_result(self.tool.call(self._positional, self._keywords)))
        except BaseException as error:
            self.fail(error)

    async def run_async(self) -> None:
        """Run an async handler, in the event loop."""
        if self.is_cancelled:
            return
        try:
            self.complete(self.tool.write_result(await self.tool.call_async(self._positional, self._keywords)))
        except BaseException as error:
            self.fail(error)

    def complete(self, written: results.Written) -> None:
        """Answer with what the handler returned."""
        members, meta = written
        request_id = self.request_id
        if request_id is None:
            self._answer(self._result_of(members, meta))
            return
        # The same as above for a call that is not parked, which nearly all are, without the detour.
        if not self.is_cancelled:
            self.send(messages.result(request_id, members, meta, self.modern))
        self.server.finished(self)

    def fail(self, error: BaseException) -> None:
        """Answer with what the handler failed with."""
        if self.is_cancelled:
            self.server.finished(self)
            return
        try:
            write = self._failure(error)
            # Tried before it counts: a call that is parked is answered later, by somebody who could not help it.
            write(None)
        except BaseException as flaw:
            # An exception of the handler's own can do anything where it is looked at. The call is answered all the same.
            kind, name = type(error).__name__, self.tool.name
            log.line("error", f"tool '{name}' failed with a {kind} that cannot be written: {type(flaw).__name__}")
            reason = f"the tool failed with a {kind}, which cannot be written"
            data = {"details": reason, "retryable": False}
            self._answer(lambda to: messages.error(to, messages.EXECUTION_ERROR, reason, data))
        else:
            self._answer(write)

    def cancel(self) -> None:
        """Stop working on it; there will be no answer."""
        self.is_cancelled = True
        for _, reply in list(self.questions.values()):
            if not reply.done():
                reply.set_exception(CallCancelledError("the call was cancelled"))
        if self.task is not None:
            self.server.loop.cancel(self.task)

    def abandon(self, reason: str) -> None:
        """End it with an error, although its handler still works."""
        data = {"details": reason, "retryable": True}
        self.send = self.server.output.send
        self._answer(lambda to: messages.error(to, messages.EXECUTION_ERROR, reason, data))
        self.cancel()

    def park(self) -> Any:
        """Let go of the request, and return its id."""
        request_id, self.request_id = self.request_id, None
        return request_id

    def resume(self, request_id: Any, meta: Mapping[str, Any]) -> bool:
        """Carry on with another request; where the handler is done already, it is answered, and false returned."""
        self.request_id = request_id
        self.meta = meta
        self.send = self.server.output.send
        if self._outcome is not None:
            self._answer(self._outcome)
        return self._outcome is None

    def keep(self, outcome: Callable[[Any], bytes]) -> None:
        """Keep the answer for the request that will carry the call on."""
        self._outcome = outcome

    @property
    def caller(self) -> Caller:
        """Who called: what its program says of itself, and what the gateway says of it."""
        info = self.meta.get(messages.META_CLIENT) if self.modern else self.server.peer.client_info
        known = info if isinstance(info, dict) else {}
        told = self.meta.get(messages.META_CALLER) if self.server.is_behind_gateway else None
        told = told if isinstance(told, dict) else {}
        return Caller(known.get("name"), known.get("version"), told.get("id"), tuple(told.get("groups") or ()))

    def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is, if the client asked to be told."""
        token = self.meta.get("progressToken")
        if token is None or self.request_id is None or self.is_cancelled:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self.server.output.send(messages.notification("notifications/progress", params))

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send a log message, if the client wants those of this level."""
        wanted = self.meta.get(messages.META_LOG_LEVEL) if self.modern else self.server.peer.log_level
        if wanted not in _LEVELS or _LEVELS.index(level) < _LEVELS.index(wanted) or self.request_id is None:
            return
        params = {"level": level, "logger": logger or self.tool.name, "data": data}
        self.server.output.send(messages.notification("notifications/message", params))

    def ask(self, params: dict[str, Any], mode: Literal["form", "url"]) -> Future[dict[str, Any]]:
        """Put a question to the user."""
        return self.server.questions.ask(self, params, mode)

    def _result_of(self, members: bytes, meta: bytes) -> Callable[[Any], bytes]:
        return lambda to: messages.result(to, members, meta, self.modern)

    def _failure(self, error: BaseException) -> Callable[[Any], bytes]:
        """Write a failure; only the id of the request is still missing."""
        if isinstance(error, ProtocolError):
            code, message, data = error.code, results.message_of(error), error.data
            return lambda to: messages.error(to, code, message, data)
        traceback = log.traceback_of(error)
        expected = isinstance(error, ToolError) and error.__cause__ is None
        log.line("error", f"tool '{self.tool.name}' failed: {results.message_of(error) if expected else traceback}")
        return self._result_of(*results.write_failure(error, traceback if self.server.is_development else None))

    def _answer(self, write: Callable[[Any], bytes]) -> None:
        if self.request_id is None and self.server.questions.keep(self, write):
            return
        if not self.is_cancelled:
            self.send(write(self.request_id))
        self.server.finished(self)


def _faults(error: ValidationError) -> dict[str, Any]:
    """Say what is wrong with the arguments, without repeating them: they may hold secrets."""
    faults = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False)[:MOST_ERRORS]:
        path = "".join(f"/{part}" for part in fault["loc"])
        faults.append({"path": path, "message": fault["msg"]})
    details = "; ".join(f"{fault['path'] or '/'}: {fault['message']}" for fault in faults)
    return {"details": details, "errors": faults, "retryable": False}
