"""Forms: what a model becomes in a question, and what no form can hold."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, RootModel, create_model

from toolgate import HandlerError
from toolgate.forms import question_schema


class Size(enum.Enum):
    """How large."""

    SMALL = "s"
    LARGE = "l"


class Number(enum.IntEnum):
    ONE = 1


class Address(BaseModel):
    street: str


class Household(BaseModel):
    name: str
    neighbour: Household | None = None


SIZE = {"title": "Size", "description": "How large."}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (bool, {"type": "boolean"}),
        (str, {"type": "string"}),
        (Annotated[str, Field(min_length=1, max_length=9, pattern="^a", description="Why.", examples=["a"])],
            {"type": "string", "minLength": 1, "maxLength": 9, "description": "Why."}),
        (int, {"type": "integer"}),
        (Annotated[int, Field(ge=1, le=5, multiple_of=2)], {"type": "integer", "minimum": 1, "maximum": 5}),
        (Annotated[int, Field(gt=0, lt=10)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (Annotated[int, Field(gt=0, ge=-3, lt=10, le=7)], {"type": "integer", "minimum": 1, "maximum": 7}),
        (Annotated[float, Field(gt=0.5, le=2)], {"type": "number", "minimum": 0.5, "maximum": 2}),
        (Annotated[Decimal, Field(ge=0)], {"type": "number", "minimum": 0}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (AnyUrl, {"type": "string", "format": "uri", "minLength": 1}),
        (datetime.time, {"type": "string"}),
        (uuid.UUID, {"type": "string"}),
        (Size, {"type": "string", "enum": ["s", "l"], **SIZE}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (Annotated[Literal["a"], Field(json_schema_extra={"enumNames": ["A"]})],
            {"type": "string", "enum": ["a"], "enumNames": ["A"]}),
        (Annotated[str, Field(json_schema_extra={"oneOf": [{"const": "a", "title": "A"}]})],
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
        (Annotated[set[Size], Field(min_length=1)],
            {"type": "array", "items": {"type": "string", "enum": ["s", "l"]}, "minItems": 1}),
        (Annotated[list[Literal["a", "b"]], Field(max_length=2)],
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 2}),
        (list[Annotated[str, Field(json_schema_extra={"anyOf": [{"const": c, "title": c.upper()} for c in "ab"]})]],
            {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}}),
    ],
)  # fmt: skip
def test_fields(annotation: Any, expected: dict[str, Any]) -> None:
    expected = {"title": "Field", **expected}
    required = question_schema(create_model("Form", field=(annotation, ...)))
    assert required == {"type": "object", "properties": {"field": expected}, "required": ["field"]}
    # The same with a default of nothing, which a form says by not asking for it.
    optional = question_schema(create_model("Form", field=(Optional[annotation], None)))
    assert optional == {"type": "object", "properties": {"field": expected}}


@pytest.mark.parametrize(
    ("annotation", "default", "said"),
    [
        (bool, True, True),
        (str | None, "x", "x"),
        (int, 3, 3),
        (Size, Size.LARGE, "l"),
        (list[Size], [Size.LARGE], ["l"]),
        (Decimal, Decimal("1.5"), 1.5),
        (datetime.date, datetime.date(2026, 7, 28), "2026-07-28"),
    ],
)
def test_defaults(annotation: Any, default: Any, said: Any) -> None:
    schema = question_schema(create_model("Form", field=(annotation, default)))
    assert schema["properties"]["field"]["default"] == said
    assert "required" not in schema


@pytest.mark.parametrize(
    "annotation",
    [
        Address, Household, Optional[Address], list[Address], list[str], list[int], list[Number], tuple[Size, Size],
        dict[str, int], Number, Literal[1, 2], Literal[True], Union[int, str], Union[int, str, None], Any, type(None),
    ],
)  # fmt: skip
def test_refused(annotation: Any) -> None:
    form = create_model("Form", fine=(str, ...), field=(annotation, ...))
    with pytest.raises(HandlerError, match="form 'Form': the field 'field' is more than a form can hold"):
        question_schema(form)


def test_forms_that_are_none() -> None:
    with pytest.raises(HandlerError, match="no model with fields"):
        question_schema(RootModel[str])
    with pytest.raises(HandlerError, match="form 'Household': the field 'neighbour'"):
        question_schema(Household)
    strange = create_model("Strange", __config__=ConfigDict(arbitrary_types_allowed=True), field=(HandlerError, ...))
    with pytest.raises(HandlerError, match="form 'Strange'"):
        question_schema(strange)


def test_a_form_of_nothing_is_a_yes_or_a_no() -> None:
    assert question_schema(create_model("Sure")) == {"type": "object", "properties": {}}
