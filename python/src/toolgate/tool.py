"""A tool: a handler that has been read, with everything that serving it needs, prepared once."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from toolgate import docstring, results, signature
from toolgate.context import Context
from toolgate.declaration import Declaration
from toolgate.errors import HandlerError
from toolgate.schema import Arguments, Placed, output_of

_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,128}")
_SKILL = re.compile(r"[^\s/]+(/[^\s/]+)+")


class Pace:
    """Guesses whether the next call of a plain handler will take long.

    A slow call may have been bad luck, on a busy machine. So after one, only a few calls are expected to be slow, and then
    the handler gets another chance; if it is slow again, it gets the next one later.
    """

    __slots__ = ("_doubt", "_expected", "is_in_doubt")

    FIRST_DOUBT = 4
    MOST_DOUBT = 256

    def __init__(self) -> None:
        self.is_in_doubt = False
        """Whether there is anything to guess, or to take note of when a call did not take long."""
        self._doubt = self.FIRST_DOUBT
        self._expected = 0

    def is_slow(self) -> bool:
        """Guess. Each answer counts as a call."""
        if self._expected == 0:
            return False
        self._expected -= 1
        return True

    def was_slow(self) -> None:
        """Take note of a call that took long although it was not expected to."""
        self.is_in_doubt = True
        self._expected = self._doubt
        self._doubt = min(self._doubt * 2, self.MOST_DOUBT)

    def was_fast(self) -> None:
        """Take note of a call that did not."""
        self._doubt = self.FIRST_DOUBT
        # A call that ran at the same time may have been slow.
        self.is_in_doubt = self._expected > 0


class Tool:
    """One handler, ready to be listed and called."""

    def __init__(self, function: Callable[..., Any], declaration: Declaration) -> None:
        self.function = function
        self.declaration = declaration
        self.name = declaration.name or function.__name__
        self.place = signature.place_of(function)
        """Where it is defined, as `file:line`."""
        if not _NAME.fullmatch(self.name):
            raise self._refusal(f"the name '{self.name}' is not of letters, digits and '_-./', 1 to 128 of them")
        self._signature = signature.read(function, self.name)
        self._documented = docstring.parse(function.__doc__)
        try:
            self.arguments = Arguments(self._signature, self._documented.parameters, self.name)
            self.mark = self.arguments.mark
            self.output = output_of(self._signature.returns)
            self.definition = self._defined()
            """The entry in the list of tools."""
        except HandlerError as error:
            raise self._refusal(str(error)) from error
        self.write_result = results.writer(self.output)
        """Writes what the handler returned as a result."""
        self.is_async = self._signature.is_async
        self._slots = self._signature.slots
        self.needs_context = any(not slot.is_session for slot in self._slots)
        takes_session = any(slot.is_session for slot in self._slots)
        self._session = declaration.session if takes_session else None
        self.is_plain = not self.is_async and not self._slots
        """Whether running it is nothing but to call the function with its arguments, in whatever thread."""
        self.pace = Pace()
        """What the threads that run plain handlers remember of it."""

    def prepare(self, arguments: dict[str, Any], context: Context | None, are_checked: bool = False) -> Placed:
        """Validate arguments, unless somebody else has, and add the context where the handler takes one.

        Raises:
            ValidationError: The arguments do not fit.

        """
        placed = self.arguments.take(arguments) if are_checked else self.arguments.validate(arguments)
        if self._slots:
            positional, keywords = placed
            for slot in self._slots:
                slot.put(positional, keywords, slot.default if slot.is_session else context)
        return placed

    def call(self, positional: list[Any], keywords: dict[str, Any]) -> Any:
        """Run a plain handler."""
        if self._session is None:
            return self.function(*positional, **keywords)
        session = self._session()
        manager = session if isinstance(session, AbstractContextManager) else nullcontext(session)
        if manager is not session and isinstance(session, AbstractAsyncContextManager):
            raise self._refusal("its session is an async context manager, which only an 'async def' can enter")
        with manager as entered:
            self._put_session(positional, keywords, entered)
            return self.function(*positional, **keywords)

    async def call_async(self, positional: list[Any], keywords: dict[str, Any]) -> Any:
        """Run an async handler."""
        if self._session is None:
            return await self.function(*positional, **keywords)
        session = self._session()
        if isinstance(session, AbstractAsyncContextManager):
            async with session as entered:
                self._put_session(positional, keywords, entered)
                return await self.function(*positional, **keywords)
        manager = session if isinstance(session, AbstractContextManager) else nullcontext(session)
        with manager as entered:
            self._put_session(positional, keywords, entered)
            return await self.function(*positional, **keywords)

    def _put_session(self, positional: list[Any], keywords: dict[str, Any], session: Any) -> None:
        for slot in self._slots:
            if slot.is_session and slot.position is None:
                keywords[slot.name] = session
            elif slot.is_session and slot.position is not None:
                positional[slot.position] = session

    def _refusal(self, what: str) -> HandlerError:
        return HandlerError(what if what.startswith("handler ") else f"handler '{self.name}' ({self.place}): {what}")

    def _defined(self) -> dict[str, Any]:
        said = self.declaration
        definition: dict[str, Any] = {"name": self.name}
        if said.title:
            definition["title"] = said.title
        description = said.description if said.description is not None else self._documented.summary
        if description:
            definition["description"] = description
        definition["inputSchema"] = self.arguments.schema
        if self.output is not None:
            definition["outputSchema"] = self.output.schema
        hints = {
            "readOnlyHint": said.read_only,
            "destructiveHint": said.destructive,
            "idempotentHint": said.idempotent,
            "openWorldHint": said.open_world,
        }
        annotations = {key: value for key, value in hints.items() if value is not None}
        if annotations:
            definition["annotations"] = annotations
        meta = _meta(said)
        if any(not slot.is_session for slot in self._signature.slots):
            # Who calls is told to those handlers only that could look.
            meta["io.toolgate/wants-caller"] = True
        else:
            meta["io.toolgate/short-call"] = self.mark
        if meta:
            definition["_meta"] = meta
        return definition


def _meta(said: Declaration) -> dict[str, Any]:
    """Collect what the protocol has no place for, under keys that the gateway knows."""
    meta: dict[str, Any] = {}
    if said.price is not None:
        meta["io.toolgate/price"] = _price(said.price)
    if said.expected_duration is not None:
        meta["io.toolgate/expected_duration"] = _seconds(said.expected_duration)
    if said.supports_async is not None:
        meta["io.toolgate/supports_async"] = said.supports_async
    if said.skill is not None:
        meta["io.toolgate/skill"] = _skill(said.skill)
    if said.tags:
        if isinstance(said.tags, str):
            raise HandlerError(f"tags must be a list of words, not the text '{said.tags}'")
        meta["io.toolgate/tags"] = list(said.tags)
    return meta


def _price(price: Decimal | int | float | str) -> str:
    """Write a price as decimal text, which every reader understands exactly."""
    try:
        exact = Decimal(str(price))
    except InvalidOperation:
        raise HandlerError(f"the price '{price}' is no number") from None
    if not exact.is_finite() or exact < 0 or exact != round(exact, 6):
        raise HandlerError(f"the price '{price}' must be at least 0 and have at most six decimals")
    return f"{exact.normalize():f}"


def _seconds(duration: timedelta | float) -> float:
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 <= seconds < float("inf"):
        raise HandlerError(f"the expected duration '{duration}' must be at least 0 seconds")
    return seconds


def _skill(skill: str) -> str:
    path = skill.removeprefix("skill://").removesuffix("/SKILL.md")
    if not _SKILL.fullmatch(path):
        raise HandlerError(f"the skill '{skill}' must be written as 'category/name'")
    return f"skill://{path}"
