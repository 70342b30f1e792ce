"""Properties of generated signatures: 2 (schemas are complete), 11 (lists follow the registry), 12 (nothing runs on
arguments that do not fit), and that every schema is one by the 2020-12 metaschema and describes what is really returned.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from toolgate.declaration import Declaration
from toolgate.errors import HandlerError
from toolgate.registry import Registry
from toolgate.tool import Tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Entry(TypedDict):
    key: str
    value: int


class Pair(NamedTuple):
    left: int
    right: str


class Node(BaseModel):
    name: str
    when: datetime.date
    child: Node | None = None


@dataclasses.dataclass(frozen=True)
class Kind:
    """A type, with JSON values that fit it, and the JSON type of its schema where it has a single one."""

    annotation: Any
    values: st.SearchStrategy[Any] = dataclasses.field(repr=False)
    json_type: str | None = None

    def default(self, draw: st.DrawFn) -> Any:
        """Make a default as an author would write it: a member of an enumeration, a date, a set, an object."""
        try:
            return TypeAdapter(self.annotation).validate_json(json.dumps(draw(self.values)))
        except (ValidationError, TypeError):
            # Some values are drawn because they do not fit.
            return None


def as_text(values: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    return values.map(lambda value: value.isoformat() if hasattr(value, "isoformat") else str(value))


INTEGERS = st.integers(-(2**53), 2**53)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SIMPLE = [
    Kind(str, st.text(), "string"),
    Kind(int, INTEGERS, "integer"),
    Kind(float, FLOATS, "number"),
    Kind(bool, st.booleans(), "boolean"),
    Kind(type(None), st.none(), "null"),
    Kind(Colour, st.sampled_from(["red", "blue"]), None),
    Kind(Size, st.sampled_from([1, 2]), None),
    Kind(Literal["a", "b"], st.sampled_from(["a", "b"]), "string"),
    Kind(datetime.date, as_text(st.dates()), "string"),
    Kind(datetime.datetime, as_text(st.datetimes()), "string"),
    Kind(uuid.UUID, as_text(st.uuids()), "string"),
    Kind(Decimal, as_text(st.decimals(-1000, 1000, places=2)), None),
    Kind(Annotated[int, Field(ge=0, le=9)], st.integers(0, 9), "integer"),
    Kind(bytes, st.sampled_from(["", "aGk=", "AP8="]), "string"),
    Kind(Point, st.fixed_dictionaries({"x": INTEGERS}, optional={"y": FLOATS})),
    Kind(Entry, st.fixed_dictionaries({"key": st.text(), "value": INTEGERS})),
    Kind(Pair, st.tuples(INTEGERS, st.text()).map(list)),
    Kind(Node, st.fixed_dictionaries({"name": st.text(), "when": as_text(st.dates())})),
]


def composed(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    return st.one_of(
        inner.map(lambda kind: Kind(list[kind.annotation], st.lists(kind.values, max_size=3), "array")),  # type: ignore[name-defined]
        inner.map(
            lambda kind: Kind(
                dict[str, kind.annotation],  # type: ignore[name-defined]
                st.dictionaries(st.text(max_size=5), kind.values, max_size=3),
                "object",
            )
        ),
        inner.map(lambda kind: Kind(Optional[kind.annotation], st.none() | kind.values)),
        st.tuples(inner, inner).map(
            lambda both: Kind(Union[both[0].annotation, both[1].annotation], both[0].values | both[1].values)
        ),
        st.tuples(inner, inner).map(
            lambda both: Kind(
                tuple[both[0].annotation, both[1].annotation],  # type: ignore[misc]
                st.tuples(both[0].values, both[1].values).map(list),
                "array",
            )
        ),
        st.sampled_from([SIMPLE[0], SIMPLE[1]]).map(
            lambda kind: Kind(set[kind.annotation], st.lists(kind.values, unique=True, max_size=3), "array")  # type: ignore[name-defined]
        ),
    )


KINDS = st.recursive(st.sampled_from(SIMPLE), composed, max_leaves=3)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True) | st.sampled_from(["json", "copy", "model_x", "schema", "self_"])


@dataclasses.dataclass(frozen=True)
class Generated:
    function: Callable[..., Any]
    kinds: dict[str, Kind]
    required: set[str]
    defaults: dict[str, Any]


@st.composite
def functions(draw: st.DrawFn, kinds_of_parameters: st.SearchStrategy[Kind] = KINDS) -> Generated:
    """Make a function with generated parameters, which returns what it was called with."""
    import keyword

    names = draw(
        st.lists(NAMES.filter(lambda name: not keyword.iskeyword(name) and name != "session"), unique=True, max_size=4)
    )
    kinds = {name: draw(kinds_of_parameters) for name in names}
    required = set(draw(st.lists(st.sampled_from(names), unique=True))) if names else set()
    ordered = sorted(names, key=lambda name: name not in required)
    keyword_only = draw(st.integers(0, len(names)))
    optional = [name for name in ordered if name not in required]
    defaults = {name: None if draw(st.booleans()) else kinds[name].default(draw) for name in optional}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY if index >= keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=kinds[name].annotation,
            default=inspect.Parameter.empty if name in required else defaults[name],
        )
        for index, name in enumerate(ordered)
    ]

    def function(*positional: Any, **keywords: Any) -> dict[str, Any]:
        bound = inspect.Signature(parameters).bind(*positional, **keywords)
        return dict(bound.arguments)

    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return Generated(function, {name: kinds[name] for name in ordered}, required, defaults)


def has_bytes(kind: Kind) -> bool:
    """Tell whether a type has bytes in it, which are base64 to callers and something else to a bare adapter."""
    return kind.annotation is bytes or "bytes" in repr(kind.annotation)


def tool_of(generated: Generated) -> Tool:
    return Tool(generated.function, Declaration(name="generated"))


@settings(max_examples=100, deadline=None)
@given(functions())
def test_property_2_schemas_are_complete_and_valid(generated: Generated) -> None:
    schema = tool_of(generated).definition["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert list(schema["properties"]) == list(generated.kinds)
    assert set(schema.get("required", [])) == generated.required
    for name, kind in generated.kinds.items():
        written = schema["properties"][name]
        if kind.json_type is not None and name in generated.required:
            assert written["type"] == kind.json_type
        if name not in generated.required:
            # What stands for an absent argument must be allowed where it is written out: null, or the default as JSON.
            assert "default" in written
            if not has_bytes(kind):
                jsonschema.validate(written["default"], {**written, "$defs": schema.get("$defs", {})})
    assert "nullable" not in json.dumps(schema)


@settings(max_examples=100, deadline=None)
@given(functions(), st.data())
def test_fitting_arguments_arrive(generated: Generated, data: st.DataObject) -> None:
    tool = tool_of(generated)
    given_names = [name for name in generated.kinds if name in generated.required or data.draw(st.booleans())]
    arguments = {name: data.draw(generated.kinds[name].values, label=name) for name in given_names}
    jsonschema.validate(arguments, tool.definition["inputSchema"])
    positional, keywords = tool.prepare(arguments, None)
    received = tool.call(positional, keywords)
    assert set(received) == set(generated.kinds)
    for name in given_names:
        expected = TypeAdapter(generated.kinds[name].annotation).validate_json(json.dumps(arguments[name]), strict=True)
        if not has_bytes(generated.kinds[name]):
            assert received[name] == expected
    for name in set(generated.defaults) - set(given_names):
        assert received[name] == generated.defaults[name]


BOUND = [
    Kind(Annotated[int, Field(ge=0, lt=9)], st.integers(-2, 11)),
    Kind(Annotated[float, Field(gt=0.5, le=2)], st.floats(0, 3) | st.integers(0, 3)),
    Kind(Annotated[str, Field(min_length=1, max_length=3)], st.text(max_size=5)),
    Kind(Annotated[int | None, Field(ge=0)], st.integers(-2, 2) | st.none()),
    Kind(Annotated[int | float, Field(ge=0)], st.integers(-2, 2) | st.floats(-2, 2)),
    Kind(Annotated[int | str, Field(max_length=2)], st.integers(-2, 2) | st.text(max_size=4)),
    Kind(Annotated[bool, Field(gt=0)], st.booleans()),
    Kind(int | str, st.integers() | st.text() | st.booleans()),
]


@settings(max_examples=400, deadline=None)
@given(functions(KINDS | st.sampled_from(BOUND)), st.data())
def test_what_fits_the_schema_need_not_be_checked_again(generated: Generated, data: st.DataObject) -> None:
    tool = tool_of(generated)
    given_names = [name for name in generated.kinds if name in generated.required or data.draw(st.booleans())]
    arguments = {name: data.draw(generated.kinds[name].values | st.none()) for name in given_names}
    kept = {name: value for name, value in arguments.items() if value is not None or name in generated.required}
    try:
        jsonschema.validate(kept, tool.definition["inputSchema"])
    except jsonschema.ValidationError:
        return

    def outcome(*, are_checked: bool) -> str:
        try:
            # As text, since `1` and `1.0` and `True` are equal.
            return repr(tool.prepare(arguments, None, are_checked=are_checked))
        except (ValidationError, TypeError):
            return "refused"

    assert outcome(are_checked=True) == outcome(are_checked=False)


ANYTHING = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(functions(), st.data())
def test_property_12_only_fitting_arguments_run(generated: Generated, data: st.DataObject) -> None:
    tool = tool_of(generated)
    names = st.sampled_from([*generated.kinds, "unknown"])
    arguments = data.draw(st.dictionaries(names, ANYTHING, max_size=4))
    try:
        tool.prepare(arguments, None)
    except ValidationError:
        return
    # What was taken fits the schema as well, so callers can check for themselves beforehand.
    optional = set(generated.kinds) - generated.required
    kept = {name: value for name, value in arguments.items() if value is not None or name not in optional}
    jsonschema.validate(kept, tool.definition["inputSchema"])


@settings(max_examples=100, deadline=None)
@given(KINDS, st.data())
def test_results_fit_the_output_schema(kind: Kind, data: st.DataObject) -> None:
    value = TypeAdapter(kind.annotation).validate_json(json.dumps(data.draw(kind.values)))

    def function() -> Any:
        return value

    function.__annotations__["return"] = kind.annotation
    tool = Tool(function, Declaration())
    members, meta = tool.write_result(tool.call(*tool.prepare({}, None)))
    assert meta == b""
    result = json.loads(b"{" + members + b"}")
    schema = tool.definition.get("outputSchema")
    if schema is not None:
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        jsonschema.validate(result["structuredContent"], schema)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "modify"]), st.integers(0, 5))))
def test_property_11_the_list_follows_the_registry(changes: list[tuple[str, int]]) -> None:
    def nothing() -> None: ...

    registry, expected = Registry(), dict[str, str]()
    for count, (change, number) in enumerate(changes):
        name, before = f"t{number}", registry.version
        fresh = Tool(nothing, Declaration(name=name, description=f"change {count}"))
        if change == "remove":
            assert registry.remove(name) == (name in expected)
            expected.pop(name, None)
        elif change == "modify" and name in expected:
            registry.remove(name)
            registry.add(fresh)
            expected.pop(name)
            expected[name] = f"change {count}"
        elif name in expected:
            with pytest.raises(HandlerError):
                registry.add(fresh)
        else:
            registry.add(fresh)
            expected[name] = f"change {count}"
        entries = json.loads(b"{" + (registry.page() or b"") + b"}")["tools"]
        assert [(entry["name"], entry["description"]) for entry in entries] == list(expected.items())
        assert registry.page() is registry.page()
        assert registry.version >= before
