"""What a handler can know of its call and do besides returning a result.

A parameter annotated with `Context` gets one; callers never see that parameter. All methods but `elicit` and
`elicit_url` return at once and may be used in plain and in async handlers alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from toolgate.errors import CallCancelledError, ToolError

if TYPE_CHECKING:
    from concurrent.futures import Future

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""How severe a log message is, as in syslog."""

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Caller:
    """Who called."""

    name: str | None
    """The client's program. It says so itself: good for logs and messages, not for decisions about rights."""
    version: str | None
    """The version of that program, as it says itself."""
    id: str | None = None
    """Whom the gateway took the caller for, as its rules and its ledger name it. A gateway lets nobody else say it;
    a client without a gateway before it could say anything, so nothing is believed where there is none."""
    groups: tuple[str, ...] = ()
    """The groups that the gateway knows the caller to be in."""


@dataclass(frozen=True)
class Answer(Generic[M]):
    """What came back from a question to the user."""

    action: Literal["accept", "decline", "cancel"]
    data: M | None = None
    """The filled form; only where the user accepted."""

    @property
    def accepted(self) -> bool:
        """Whether the user agreed."""
        return self.action == "accept"


class Link(Protocol):
    """The call behind a context, as the worker provides it."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the request."""

    @property
    def caller(self) -> Caller:
        """Who called."""

    @property
    def is_cancelled(self) -> bool:
        """Whether the result is still wanted."""

    def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is, if the client asked to be told."""

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send a log message, if the client wants those of this level."""

    def ask(self, params: dict[str, Any], mode: Literal["form", "url"]) -> Future[dict[str, Any]]:
        """Put a question to the user."""


class Context:
    """The call that a handler is working on."""

    __slots__ = ("_link",)

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def caller(self) -> Caller:
        """Who called."""
        return self._link.caller

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the request: everything that client and gateway sent along with it."""
        return self._link.meta

    @property
    def is_cancelled(self) -> bool:
        """Whether the client no longer wants the result. Async handlers are cancelled by themselves, as tasks are."""
        return self._link.is_cancelled

    def raise_if_cancelled(self) -> None:
        """End the handler if the client no longer wants the result. Call it now and then in a long plain handler."""
        if self._link.is_cancelled:
            raise CallCancelledError("the call was cancelled")

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call is. Costs next to nothing where the client did not ask to be told."""
        self._link.report_progress(progress, total, message)

    def log(self, level: Level, data: Any, *, logger: str | None = None) -> None:
        """Send a log message to the client: text, or anything that has a JSON form."""
        self._link.log(level, data, logger)

    def debug(self, data: Any) -> None:
        """Send a log message of level `debug`."""
        self._link.log("debug", data, None)

    def info(self, data: Any) -> None:
        """Send a log message of level `info`."""
        self._link.log("info", data, None)

    def warning(self, data: Any) -> None:
        """Send a log message of level `warning`."""
        self._link.log("warning", data, None)

    def error(self, data: Any) -> None:
        """Send a log message of level `error`."""
        self._link.log("error", data, None)

    async def elicit(self, message: str, form: type[M]) -> Answer[M]:
        """Ask the user to fill in a form, in an async handler.

        Its fields are texts, numbers, yes or no, choices among texts (`Literal` or `Enum`), or lists of such choices; each of
        them may be `Optional`.

        Raises:
            HandlerError: A field is more than a form can hold.
            ElicitationUnavailableError: The client cannot ask its user, or the answer took too long.

        """
        return _answer(await _awaited(self._ask(message, form)), form)

    def elicit_blocking(self, message: str, form: type[M]) -> Answer[M]:
        """Ask as `elicit` does, in a plain handler, whose thread waits."""
        return _answer(self._ask(message, form).result(), form)

    async def elicit_url(self, message: str, url: str) -> Answer[BaseModel]:
        """Ask the user to open a page, for what must not pass through the client, such as a password."""
        reply = await _awaited(self._link.ask({"mode": "url", "message": message, "url": url}, "url"))
        return Answer(_action(reply))

    def _ask(self, message: str, form: type[BaseModel]) -> Future[dict[str, Any]]:
        from toolgate.forms import question_schema  # most handlers ask nothing

        params = {"mode": "form", "message": message, "requestedSchema": question_schema(form)}
        return self._link.ask(params, "form")


async def _awaited(reply: Future[dict[str, Any]]) -> dict[str, Any]:
    import asyncio  # slow to import, and there already where this runs

    return await asyncio.wrap_future(reply)


def _answer(reply: dict[str, Any], form: type[M]) -> Answer[M]:
    action = _action(reply)
    if action != "accept":
        return Answer(action)
    try:
        return Answer("accept", form.model_validate(reply.get("content") or {}))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ToolError(f"the answer to the question does not fit its form: {place}: {first['msg']}") from error


def _action(reply: dict[str, Any]) -> Literal["accept", "decline", "cancel"]:
    action = reply.get("action")
    return action if action in ("accept", "decline") else "cancel"
