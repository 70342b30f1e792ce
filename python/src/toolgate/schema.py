"""Schemas from type hints, and the validators and serialisers that belong to them.

Arguments are validated *strictly but as JSON*: `"5"` is no integer, since the schema says so, yet `"2026-07-28"` is a
date and a list is a set, since JSON has no other way to write them. Only pydantic's JSON mode makes this distinction,
so arguments are validated from their text.

The fields of the model behind a handler are called `p0`, `p1`, …, with the true names as aliases: a parameter may well
be called `json`, `copy` or `_id`, which a field may not.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import PydanticSerializationError, to_json
from pydantic_core.core_schema import CoreSchema

from toolgate.content import CONTENT_TYPES, Result
from toolgate.errors import HandlerError
from toolgate.literals import readable
from toolgate.parts import types_within
from toolgate.signature import REQUIRED, Parameter, Signature

JsonSchema = dict[str, Any]
"""A JSON Schema document."""
Placed = tuple[list[Any], dict[str, Any]]
"""Arguments as a handler takes them: by position, and by keyword."""

_BYTES_AS_BASE64 = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
_EXACT = 2**53
"""Up to here every reader of JSON tells whole numbers apart."""
_JSON_KINDS = (str, int, float, bool, type(None))
"""Types whose values need no conversion."""
_ARGUMENTS = ConfigDict(extra="forbid", **_BYTES_AS_BASE64)


class Arguments:
    """The parameters that a caller fills: their schema, and their validator."""

    def __init__(self, signature: Signature, descriptions: dict[str, str], name: str) -> None:
        parameters = signature.parameters
        fields = {f"p{index}": _field(item, descriptions.get(item.name)) for index, item in enumerate(parameters)}
        try:
            model: type[BaseModel] = create_model(name, __config__=_ARGUMENTS, **fields)  # type: ignore[call-overload]
            self.schema = dict(model.model_json_schema(schema_generator=_Untitled))
        except Exception as error:
            raise _culprit(parameters, error) from error
        self._validate_json = model.__pydantic_validator__.validate_json
        self._positional = sum(1 for parameter in parameters if not parameter.keyword_only)
        self._keywords = [parameter.name for parameter in parameters if parameter.keyword_only]
        self._optional = set(self.schema["properties"]) - set(self.schema.get("required", ()))
        self._plain = _plain(parameters)
        self.mark = hashlib.sha256(to_json(self.schema)).hexdigest()[:16]
        """Tells this schema from any other."""

    def validate(self, arguments: dict[str, Any]) -> Placed:
        """Check what a caller sent, and return it as positional and keyword arguments.

        Raises:
            ValidationError: It does not fit the schema.

        """
        try:
            model = self._validate_json(to_json(arguments), strict=True)
        except ValidationError:
            # Many clients write null for what they leave out.
            given = {key: value for key, value in arguments.items() if value is not None or key not in self._optional}
            if len(given) == len(arguments):
                raise
            model = self._validate_json(to_json(given), strict=True)
        return self._placed(list(model.__dict__.values()))

    def take(self, arguments: dict[str, Any]) -> Placed:
        """Return what somebody else has checked against this very schema. Mostly nothing is left to do to it.

        Raises:
            ValidationError: The handler asks for more than the schema can say.

        """
        return self.taken_as_they_are(arguments) or self.validate(arguments)

    def taken_as_they_are(self, arguments: dict[str, Any]) -> Placed | None:
        """Return what somebody else has checked against this very schema; nothing where something is left to do to it."""
        if self._plain is None:
            return None
        values, defaults = [], 0
        for name, kinds, default in self._plain:
            value = arguments.get(name, REQUIRED)
            kind = type(value)
            # A number that is too large for a float has become infinity.
            if kind in kinds and (kind is not float or math.isfinite(value)):
                values.append(value)
            elif value is REQUIRED and default is not REQUIRED:
                values.append(default)
                defaults += 1
            else:
                # A whole number for a float, a null for what is left out.
                return None
        if len(values) - defaults != len(arguments):
            return None
        return self._placed(values) if self._keywords else (values, {})

    def _placed(self, values: list[Any]) -> Placed:
        if not self._keywords:
            return values, {}
        count = self._positional
        return values[:count], dict(zip(self._keywords, values[count:], strict=True))


class Output:
    """The result of a handler with a declared type: its schema, and its serialiser."""

    def __init__(self, returns: Any) -> None:
        adapter = _adapter(returns)
        schema = dict(adapter.json_schema(mode="serialization", schema_generator=_Untitled))
        self.is_wrapped = not _is_object(schema)
        """Whether the value is put into an object as its member `result`: clients before 2026 know no other results."""
        self.schema = _wrapped(schema) if self.is_wrapped else {"type": "object", **schema}
        self._adapter = adapter
        self._to_json = adapter.serializer.to_json
        self.plain: type | None = returns if returns in (str, int, bool) else None
        """A type of which there is nothing to check and one way to write it, which need not go through a serialiser."""

    def write(self, value: Any) -> bytes:
        """Write a result as JSON, not wrapped yet.

        Raises:
            ValueError: It is not of the declared type.

        """
        try:
            return self._to_json(value, by_alias=True, warnings="error")
        except PydanticSerializationError:
            # A dict where a model is declared is as good as the model.
            return self._to_json(self._adapter.validate_python(value), by_alias=True, warnings="error")


def output_of(returns: Any) -> Output | None:
    """Prepare the results of a handler; nothing where its type says nothing that a schema could."""
    if returns in (REQUIRED, Any, None, type(None), object) or {Any, object} & set(get_args(returns)):
        return None
    if any(part in (*CONTENT_TYPES, Result, bytes) for part in types_within(returns)):
        return None
    try:
        return Output(returns)
    except Exception as error:
        raise HandlerError(f"the return type {_shown(returns)} has no JSON schema: {_reason(error)}") from error


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of names: a model has to read every one of them, and learns nothing."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 — pydantic declares it so

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 — pydantic calls it so
        return False

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        document = super().generate(schema, mode)
        for definition in document.get("$defs", {}).values():
            definition.pop("title", None)
        document.pop("title", None)
        return document


def _field(parameter: Parameter, description: str | None) -> tuple[Any, Any]:
    given = FieldInfo.from_annotation(parameter.annotation).description
    if given is None and isinstance(parameter.default, FieldInfo):
        given = parameter.default.description
    said: dict[str, Any] = {"alias": parameter.name, "validation_alias": parameter.name}
    if given is None and description:
        said["description"] = description
    annotation: Any = Annotated[readable(parameter.annotation), Field(**said)]
    return (annotation, ... if parameter.is_required else parameter.default)


def _plain(parameters: tuple[Parameter, ...]) -> list[tuple[str, tuple[type, ...], Any]] | None:
    """Name, types and default of each parameter, where the schema says all that is asked of them, and JSON has their types."""
    plain = []
    for parameter in parameters:
        said, default = FieldInfo.from_annotation(parameter.annotation), parameter.default
        kinds = _json_kinds(said.annotation)
        is_said = said.json_schema_extra is None and all(_is_in_schema(demand, kinds) for demand in said.metadata)
        if not (kinds and is_said and (parameter.is_required or type(default) in _JSON_KINDS)):
            return None
        plain.append((parameter.name, kinds, default))
    return plain


def _json_kinds(annotation: Any) -> tuple[type, ...]:
    """List the types of an annotation that is made of nothing but types that JSON has."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    # By identity: an annotation may be something that cannot even be compared.
    kinds = tuple(kind for part in parts for kind in _JSON_KINDS if part is kind)
    return kinds if len(kinds) == len(parts) else ()


def _is_in_schema(demand: Any, kinds: tuple[type, ...]) -> bool:
    """Tell whether the schema says a demand as pydantic means it: of unions it does not, nor of numbers beyond a float's."""
    present = [kind for kind in kinds if kind is not type(None)]
    if len(present) != 1:
        return False
    if type(demand) in (MinLen, MaxLen):
        return present[0] is str
    if type(demand) not in (Ge, Gt, Le, Lt) or present[0] not in (int, float):
        return False
    bound = getattr(demand, type(demand).__name__.lower())
    return type(bound) in (int, float) and abs(bound) <= _EXACT


def _culprit(parameters: tuple[Parameter, ...], error: Exception) -> HandlerError:
    """Find out which parameter it was. Only now, since trying each one takes its time."""
    for parameter in parameters:
        try:
            TypeAdapter(parameter.annotation).json_schema()
        except Exception as cause:
            return HandlerError(
                f"parameter '{parameter.name}' of type {_shown(parameter.annotation)} has no JSON schema: {_reason(cause)}"
            )
    return HandlerError(f"the parameters have no JSON schema: {_reason(error)}")


def _adapter(returns: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(returns, config=_BYTES_AS_BASE64)
    except PydanticUserError as error:
        # Models, dataclasses and TypedDicts have settings of their own.
        if error.code != "type-adapter-config-unused":
            raise
        return TypeAdapter(returns)


def _is_object(schema: JsonSchema) -> bool:
    reference = schema.get("$ref", "")
    if reference.startswith("#/$defs/"):
        schema = schema.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
    return schema.get("type") == "object"


def _wrapped(schema: JsonSchema) -> JsonSchema:
    definitions = schema.pop("$defs", None)
    wrapper: JsonSchema = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return wrapper if definitions is None else {**wrapper, "$defs": definitions}


def _shown(annotation: Any) -> str:
    return inspect.formatannotation(annotation) if annotation is not None else "None"


def _reason(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
