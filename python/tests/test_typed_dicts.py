"""TypedDicts of `typing`: pydantic takes them from Python 3.12 on, handlers on every Python."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union

import jsonschema
import pytest
from pydantic import ConfigDict, Field, ValidationError
from typing_extensions import NotRequired, Required

from toolgate.declaration import Declaration
from toolgate.errors import HandlerError
from toolgate.tool import Tool

T = TypeVar("T")


class Article(typing.TypedDict):
    """What is sold."""

    sku: str
    amount: Annotated[int, Field(ge=1, description="How many.")]
    note: NotRequired[str]


class Gift(Article, total=False):
    wrap: Literal["plain", "red"]
    to: Required[str]


class Tree(typing.TypedDict):
    name: str
    children: list[Tree]


class Closed(typing.TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
    a: int


class Lost(typing.TypedDict):
    article: Article
    what: NoSuchType  # type: ignore[name-defined] # noqa: F821


class Holder(typing.TypedDict):
    lost: Lost


def take(item: Article, again: Article) -> None: ...
def take_gift(item: Gift) -> None: ...
def take_tree(item: Tree) -> None: ...
def take_closed(item: Closed) -> None: ...
def take_lost(item: Holder) -> None: ...
def take_many(item: list[Article]) -> None: ...
def take_by_name(item: dict[str, Article]) -> None: ...
def take_perhaps(item: Optional[Article]) -> None: ...
def take_either(item: Union[int, Article]) -> None: ...
def take_either_so(item: int | Article) -> None: ...
def take_said(item: Annotated[list[Annotated[Article, Field(description="x")]], Field(max_length=1)]) -> None: ...
def take_pair(item: tuple[int, Article]) -> None: ...
def give() -> Article:
    return {"sku": "MUG", "amount": 2}


def give_trees() -> list[Tree]:
    return [{"name": "root", "children": [{"name": "leaf", "children": []}]}]


def tool(function: Callable[..., Any]) -> Tool:
    return Tool(function, Declaration())


ARTICLE = {
    "type": "object",
    "description": "What is sold.",
    "properties": {
        "sku": {"type": "string"},
        "amount": {"type": "integer", "minimum": 1, "description": "How many."},
        "note": {"type": "string"},
    },
    "required": ["sku", "amount"],
}


def test_a_parameter_has_its_fields() -> None:
    schema = tool(take).definition["inputSchema"]
    # Described once, although it is taken twice.
    assert list(schema["$defs"]) == ["Article"]
    # Newer pydantic applies the settings of the whole to its parts.
    assert {**schema["$defs"]["Article"], "additionalProperties": False} == {**ARTICLE, "additionalProperties": False}
    assert schema["properties"] == {"item": {"$ref": "#/$defs/Article"}, "again": {"$ref": "#/$defs/Article"}}


def test_a_field_is_required_as_its_own_class_says() -> None:
    gift = tool(take_gift).definition["inputSchema"]["$defs"]["Gift"]
    assert sorted(gift["properties"]) == ["amount", "note", "sku", "to", "wrap"]
    assert sorted(gift["required"]) == ["amount", "sku", "to"]


MUG = {"sku": "MUG", "amount": 1}


@pytest.mark.parametrize(
    ("function", "good", "bad"),
    [
        (take_gift, {**MUG, "to": "Anna"}, MUG),
        (take_tree, {"name": "a", "children": [{"name": "b", "children": []}]}, {"name": "a", "children": [{"name": "b"}]}),
        (take_closed, {"a": 1}, {"a": 1, "b": 2}),
        (take_many, [MUG], [{**MUG, "amount": 0}]),
        (take_by_name, {"x": MUG}, {"x": {"sku": "MUG"}}),
        (take_perhaps, MUG, {}),
        (take_perhaps, None, []),
        (take_either, MUG, {"amount": 1}),
        (take_either_so, MUG, {"amount": 1}),
        (take_said, [MUG], [MUG, MUG]),
        (take_pair, [1, MUG], [1, {}]),
    ],
)
def test_wherever_it_stands(function: Callable[..., Any], good: Any, bad: Any) -> None:
    check(function, good, bad)


def check(function: Callable[..., Any], good: Any, bad: Any) -> None:
    made = tool(function)
    schema = made.definition["inputSchema"]
    jsonschema.validate({"item": good}, schema)
    positional, _ = made.prepare({"item": good}, None)
    assert positional == [tuple(good) if function is take_pair else good]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"item": bad}, schema)
    with pytest.raises(ValidationError):
        made.prepare({"item": bad}, None)


if sys.version_info >= (3, 11):

    class Box(typing.TypedDict, Generic[T]):
        inside: T

    def take_box(item: Box[Article]) -> None: ...

    def test_with_parameters_of_its_own() -> None:
        check(take_box, {"inside": MUG}, {"inside": {"sku": "MUG"}})


def test_a_result_is_an_object_of_its_fields() -> None:
    made = tool(give)
    assert made.definition["outputSchema"] == ARTICLE
    members, _ = made.write_result(give())
    assert b'"structuredContent":{"sku":"MUG","amount":2}' in members
    trees = tool(give_trees)
    schema = trees.definition["outputSchema"]
    jsonschema.validate({"result": give_trees()}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"result": [{"name": "root"}]}, schema)


def test_one_that_cannot_be_resolved_is_refused_every_time() -> None:
    for _ in range(2):
        with pytest.raises(HandlerError, match="'item'"):
            tool(take_lost)
