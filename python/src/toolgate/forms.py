"""Forms: what a handler asks its user, written as the schema of the question.

The specification keeps forms flat, so that every client can show them: texts, numbers, yes or no, a choice among texts, and
several of them. A field that is nothing of this is refused by its name. What else is demanded of a value, such as a
pattern, a form cannot say; it is left out, and holds for the answer all the same.
"""

from __future__ import annotations

from decimal import Decimal
from math import ceil, floor
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DecimalSchema

from toolgate.errors import HandlerError

_FORMATS = ("email", "uri", "date", "date-time")
_DEFAULTS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
}
"""The types of JSON that a field may have, and those of its default."""
_DEMANDS = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}


def question_schema(form: type[BaseModel]) -> JsonSchemaValue:
    """Write the schema of a form.

    Raises:
        HandlerError: It is more than a form may be; the message names the field.

    """

    def refuse(what: str) -> HandlerError:
        return HandlerError(f"form '{form.__name__}': {what}")

    try:
        document = form.model_json_schema(schema_generator=_Numbers)
    except PydanticUserError as error:
        raise refuse(str(error).split("\n", 1)[0]) from error
    definitions = document.get("$defs", {})
    whole = _direct(document, definitions)
    if "properties" not in whole:
        raise refuse("it is no model with fields")
    fields = {}
    for name, said in whole["properties"].items():
        field = _field(_direct(said, definitions), definitions)
        if field is None:
            raise refuse(
                f"the field '{name}' is more than a form can hold: text, numbers, yes or no, a choice among texts "
                f"(Literal or Enum), or a list of such choices; each of them may be Optional"
            )
        fields[name] = field
    required = {"required": whole["required"]} if whole.get("required") else {}
    return {"type": "object", "properties": fields, **required}


class _Numbers(GenerateJsonSchema):
    """Writes decimals as the numbers that users know, where pydantic would offer a text as well."""

    def decimal_schema(self, schema: DecimalSchema) -> JsonSchemaValue:
        number: JsonSchemaValue = super().decimal_schema(schema)["anyOf"][0]
        return number

    def encode_default(self, dft: Any) -> Any:
        return float(dft) if isinstance(dft, Decimal) else super().encode_default(dft)


def _direct(schema: JsonSchemaValue, definitions: JsonSchemaValue) -> JsonSchemaValue:
    """Follow references, and leave out null: who fills in a form leaves a field empty instead."""
    while True:
        aside = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
        choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
        if "$ref" in schema:
            schema = {**definitions.get(schema["$ref"].removeprefix("#/$defs/"), {}), **aside}
        elif len(choices) == 1:
            schema = {**choices[0], **aside}
        else:
            return schema


def _field(schema: JsonSchemaValue, definitions: JsonSchemaValue) -> JsonSchemaValue | None:
    """Write one field with the words that forms have; nothing where they do not suffice."""
    kind = schema.get("type")
    field: JsonSchemaValue = {}
    if kind == "array":
        options = _options(_direct(schema.get("items", {}), definitions), "anyOf")
        if options is None:
            return None
        field["items"] = options
    elif schema.keys() & {"const", "enum", "oneOf"}:
        options = _options(schema, "oneOf")
        if options is None:
            return None
        kind, field = "string", options
    if kind not in _DEFAULTS:
        return None
    said: JsonSchemaValue = {key: schema[key] for key in ("title", "description") if key in schema}
    if type(schema.get("default")) in _DEFAULTS[kind]:
        said["default"] = schema["default"]
    if schema.get("format") in _FORMATS:
        said["format"] = schema["format"]
    demands = {key: schema[key] for key in _DEMANDS.get(kind, ()) if key in schema}
    return {"type": kind, **said, **_bounds(schema, kind), **demands, **field}


def _options(schema: JsonSchemaValue, titled: str) -> JsonSchemaValue | None:
    """Write what can be chosen; nothing where it is not all text. `titled` is the word for choices that have titles."""
    if titled in schema:
        options = [{"const": option.get("const"), "title": option.get("title")} for option in schema[titled]]
        is_text = all(isinstance(word, str) for option in options for word in option.values())
        return {titled: options} if is_text else None
    values = [schema["const"]] if "const" in schema else [value for value in schema.get("enum", ()) if value is not None]
    if not values or not all(isinstance(value, str) for value in values):
        return None
    names = {"enumNames": schema["enumNames"]} if "enumNames" in schema else {}
    return {"type": "string", "enum": values, **names}


def _bounds(schema: JsonSchemaValue, kind: str) -> JsonSchemaValue:
    """Write the bounds of a number. Forms know only those that belong to the range themselves."""
    if kind not in ("integer", "number"):
        return {}
    lowest = [schema["minimum"]] if "minimum" in schema else []
    highest = [schema["maximum"]] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        bound = schema["exclusiveMinimum"]
        lowest.append(floor(bound) + 1 if kind == "integer" else bound)
    if "exclusiveMaximum" in schema:
        bound = schema["exclusiveMaximum"]
        highest.append(ceil(bound) - 1 if kind == "integer" else bound)
    return {**({"minimum": max(lowest)} if lowest else {}), **({"maximum": min(highest)} if highest else {})}
