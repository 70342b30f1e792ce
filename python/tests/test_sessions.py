"""Sessions: what a factory makes, in plain and in async handlers, wherever the parameter stands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from toolgate import HandlerError
from toolgate.declaration import Declaration
from toolgate.tool import Tool

HAPPENED: list[str] = []


@contextlib.contextmanager
def plain_manager() -> Iterator[str]:
    HAPPENED.append("opened")
    try:
        yield "plain"
    except ValueError:
        HAPPENED.append("rolled back")
        raise
    HAPPENED.append("committed")


@contextlib.asynccontextmanager
async def async_manager() -> AsyncIterator[str]:
    await asyncio.sleep(0)
    HAPPENED.append("opened")
    try:
        yield "async"
    except ValueError:
        HAPPENED.append("rolled back")
        raise
    await asyncio.sleep(0)
    HAPPENED.append("committed")


class Both:
    """A manager of either kind, as some libraries have them."""

    def __enter__(self) -> str:
        return "entered plainly"

    def __exit__(self, *_: object) -> None: ...

    async def __aenter__(self) -> str:
        return "entered in the loop"

    async def __aexit__(self, *_: object) -> None: ...


def bare() -> str:
    return "bare"


def plain_first(session: str, a: int, b: int = 2) -> list[Any]:
    return used(a, b, session)


def plain_between(a: int, session: str, b: int = 2) -> list[Any]:
    return used(a, b, session)


def plain_keyword(a: int, *, session: str, b: int = 2) -> list[Any]:
    return used(a, b, session)


async def async_first(session: str, a: int, b: int = 2) -> list[Any]:
    await asyncio.sleep(0)
    return used(a, b, session)


async def async_last(a: int, b: int = 2, session: str = "") -> list[Any]:
    await asyncio.sleep(0)
    return used(a, b, session)


async def async_keyword(a: int, *, b: int = 2, session: str) -> list[Any]:
    await asyncio.sleep(0)
    return used(a, b, session)


def used(a: int, b: int, session: str) -> list[Any]:
    HAPPENED.append("used")
    if a < 0:
        raise ValueError("no such thing")
    return [a, b, session]


def called(function: Callable[..., Any], factory: Callable[[], Any] | None, a: int = 1) -> Any:
    HAPPENED.clear()
    tool = Tool(function, Declaration(session=factory))
    assert "session" not in tool.definition["inputSchema"]["properties"]
    positional, keywords = tool.prepare({"a": a}, None)
    return asyncio.run(tool.call_async(positional, keywords)) if tool.is_async else tool.call(positional, keywords)


PLAIN = [plain_first, plain_between, plain_keyword]
ASYNC = [async_first, async_last, async_keyword]


@pytest.mark.parametrize("function", PLAIN + ASYNC)
def test_a_bare_value_is_handed_over(function: Callable[..., Any]) -> None:
    assert called(function, bare) == [1, 2, "bare"]


@pytest.mark.parametrize(
    ("function", "factory", "entered"),
    [
        *((function, plain_manager, "plain") for function in PLAIN + ASYNC),
        *((function, async_manager, "async") for function in ASYNC),
    ],
)
def test_a_manager_is_entered_around_the_call(function: Callable[..., Any], factory: Callable[[], Any], entered: str) -> None:
    assert called(function, factory) == [1, 2, entered]
    assert HAPPENED == ["opened", "used", "committed"]
    with pytest.raises(ValueError, match="no such thing"):
        called(function, factory, a=-1)
    assert HAPPENED == ["opened", "used", "rolled back"]


def test_a_manager_of_either_kind_is_entered_as_the_handler_runs() -> None:
    assert called(plain_first, Both) == [1, 2, "entered plainly"]
    assert called(async_first, Both) == [1, 2, "entered in the loop"]


def test_a_plain_handler_is_not_given_what_it_cannot_enter() -> None:
    with pytest.raises(HandlerError, match=r"'plain_first'.*only an 'async def'"):
        called(plain_first, async_manager)
    assert HAPPENED == []


def test_without_a_factory_a_session_is_its_default() -> None:
    assert called(plain_keyword, None) == [1, 2, None]
    assert called(async_last, None) == [1, 2, ""]
