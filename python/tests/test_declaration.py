"""Signatures and declarations: what is taken, and what is refused with a message that names the culprit."""

from __future__ import annotations

import datetime
import enum
import threading
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field, ValidationError

from toolgate import Context, HandlerError, Image, Result, handler
from toolgate.declaration import declaration_of, handlers_of
from toolgate.registry import PAGE, Registry
from toolgate.tool import Tool


def tool(function: Callable[..., Any], **said: Any) -> Tool:
    marked = handler(**said)(function)
    declaration = declaration_of(marked)
    assert declaration is not None
    return Tool(marked, declaration)


def variadic(*items: int) -> None: ...
def variadic_keywords(**items: int) -> None: ...
def untyped(a: int, b) -> None: ...  # type: ignore[no-untyped-def]
def unknown(a: int, b: NoSuchType) -> None: ...  # type: ignore[name-defined] # noqa: F821
def impossible(a: int, b: threading.Event) -> None: ...
def a_callable(a: int, b: Callable[[], int]) -> None: ...
def unknown_return() -> NoSuchType: ...  # type: ignore[name-defined] # noqa: F821
def impossible_return() -> threading.Event: ...  # type: ignore[empty-body]
async def generator(a: int) -> AsyncIterator[int]:
    yield a


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (variadic, "'*items'"),
        (variadic_keywords, "'**items'"),
        (untyped, "'b' has no type"),
        (unknown, "'b'"),
        (impossible, "'b'"),
        (a_callable, "'b'"),
        (unknown_return, "return type"),
        (impossible_return, "return type"),
        (generator, "generator"),
    ],
)
def test_refused(function: Callable[..., Any], named: str) -> None:
    with pytest.raises(HandlerError) as raised:
        tool(function)
    message = str(raised.value)
    assert message.startswith(f"handler '{function.__name__}' ({__file__}:")
    assert named in message


def nothing() -> None: ...


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"price": "cheap"}, "price"),
        ({"price": -1}, "price"),
        ({"price": "0.0000001"}, "price"),
        ({"expected_duration": -1}, "duration"),
        ({"skill": "returns"}, "skill"),
        ({"tags": "a"}, "tags"),
        ({"name": "with space"}, "name"),
    ],
)
def test_refused_declarations(said: dict[str, Any], what: str) -> None:
    with pytest.raises(HandlerError, match=what):
        tool(nothing, **said)


def test_what_is_said_is_listed() -> None:
    definition = tool(
        nothing, name="orders.check", title="Check", description="Look.", price=Decimal("0.250"), tags=["a", "b"],
        expected_duration=datetime.timedelta(minutes=2), supports_async=True, skill="orders/returns",
        read_only=True, destructive=False, idempotent=True, open_world=False,
    ).definition  # fmt: skip
    mark = definition["_meta"].pop("io.toolgate/short-call")
    assert mark == tool(nothing).definition["_meta"]["io.toolgate/short-call"], "it is the mark of the schema"
    assert definition == {
        "name": "orders.check",
        "title": "Check",
        "description": "Look.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        "_meta": {
            "io.toolgate/price": "0.25",
            "io.toolgate/expected_duration": 120.0,
            "io.toolgate/supports_async": True,
            "io.toolgate/skill": "skill://orders/returns",
            "io.toolgate/tags": ["a", "b"],
        },
    }


class Order(BaseModel):
    item: str
    parts: list[Order] = []


def many(
    a: int, b: Annotated[str, Field(description="From the type.", min_length=1)], /, ctx: Context, c: int | None = None,
    session: object = "none", *, d: Annotated[float, Field(gt=0)] = 1.5, json: Order, other: Context | None = None,
    _id: int = Field(4, ge=2), e: int = None,  # type: ignore[assignment] # noqa: RUF013
) -> Order:  # fmt: skip
    """Do much.

    Args:
        a: From the docstring.
        b: Not this one.
    """
    return json


def test_parameters_and_slots() -> None:
    made = tool(many)
    schema = made.definition["inputSchema"]
    assert list(schema["properties"]) == ["a", "b", "c", "d", "json", "_id", "e"]
    assert schema["required"] == ["a", "b", "json"]
    assert schema["properties"]["a"]["description"] == "From the docstring."
    assert schema["properties"]["b"]["description"] == "From the type."
    assert schema["properties"]["c"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert schema["properties"]["_id"] == {"type": "integer", "minimum": 2, "default": 4}
    assert made.definition["outputSchema"]["type"] == "object"
    context = Context(None)  # type: ignore[arg-type]
    positional, keywords = made.prepare({"a": 1, "b": "x", "json": {"item": "y"}}, context)
    assert positional == [1, "x", context, None, "none"]
    assert keywords == {"d": 1.5, "json": Order(item="y"), "_id": 4, "e": None, "other": context}


class Stage(enum.Enum):
    OPEN = "open"
    PAID = "paid"
    GONE = 3


def literals(
    one: Literal[Stage.PAID, Stage.GONE], *, many: list[Literal[Stage.OPEN]] | None = None,
    mixed: dict[str, Literal[Stage.OPEN, "x"]] | None = None,
) -> None: ...  # fmt: skip


def test_literals_of_enumerations_are_read_by_their_values() -> None:
    made = tool(literals)
    arguments = {"one": "paid", "many": ["open"], "mixed": {"a": "open", "b": "x"}}
    jsonschema.validate(arguments, made.definition["inputSchema"])
    positional, keywords = made.prepare(arguments, None)
    assert positional == [Stage.PAID]
    assert keywords == {"many": [Stage.OPEN], "mixed": {"a": Stage.OPEN, "b": "x"}}
    assert made.prepare({"one": 3}, None)[0] == [Stage.GONE]
    for wrong in ("open", "3", True, None, ["paid"]):
        with pytest.raises(ValidationError):
            made.prepare({"one": wrong}, None)


def test_results_without_a_schema() -> None:
    def image() -> Image: ...  # type: ignore[empty-body]
    def images() -> list[Image] | None: ...
    def by_hand() -> Result: ...  # type: ignore[empty-body]
    def anything() -> Any: ...
    def unsaid(): ...  # type: ignore[no-untyped-def]

    for function in (image, images, by_hand, anything, unsaid, nothing):
        assert "outputSchema" not in tool(function).definition


def test_members_of_objects_and_classes() -> None:
    class Base:
        @handler
        def inherited(self) -> None: ...

    class Shop(Base):
        @handler
        def own(self) -> None: ...
        @staticmethod
        @handler
        def static() -> None: ...
        @handler
        @classmethod
        def of_class(cls) -> None: ...
        def unmarked(self) -> None: ...

    assert [function.__name__ for function, _ in handlers_of(Shop())] == ["inherited", "own", "static", "of_class"]
    assert [function.__name__ for function, _ in handlers_of(Shop)] == ["static", "of_class"]


def test_only_functions_are_handlers() -> None:
    with pytest.raises(TypeError, match="function or method"):
        handler(int)


def test_names_are_unique() -> None:
    registry = Registry()
    registry.add(tool(nothing))
    with pytest.raises(HandlerError, match="taken by"):
        registry.add(tool(nothing))


def test_pages() -> None:
    import json

    registry = Registry()
    for number in range(PAGE * 2 + 1):
        registry.add(tool(nothing, name=f"t{number}"))
    names, cursor = [], None
    while True:
        page = registry.page(cursor)
        assert page is not None
        read = json.loads(b"{" + page + b"}")
        names += [entry["name"] for entry in read["tools"]]
        cursor = read.get("nextCursor")
        if cursor is None:
            break
        assert len(read["tools"]) == PAGE
    assert names == [f"t{number}" for number in range(PAGE * 2 + 1)]
    for wrong in ("0.1", f"{registry.version}.0", f"{registry.version}.9", f"{registry.version}.²", "", 5, "x"):
        assert registry.page(wrong) is None
