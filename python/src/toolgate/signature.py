"""Reads the signature of a handler: which parameters a caller fills, and which the worker fills.

A signature that cannot be served exactly is refused here, with the parameter's name, instead of surprising somebody at
the first call: `*args` and `**kwargs` have no schema, and a parameter without a type would accept anything.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolgate.context import Context
from toolgate.errors import HandlerError
from toolgate.parts import types_within
from toolgate.typed_dicts import understood

REQUIRED: Any = inspect.Parameter.empty
"""The default of a parameter that has none."""

SESSION = "session"
"""The name of the parameter that a caller never fills, whatever its type."""

_VARIADIC = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


@dataclass(frozen=True)
class Parameter:
    """A parameter that the caller fills."""

    name: str
    annotation: Any
    default: Any
    keyword_only: bool

    @property
    def is_required(self) -> bool:
        """Whether a call without it is refused."""
        return self.default is REQUIRED


@dataclass(frozen=True)
class Slot:
    """A parameter that the worker fills, with the context or with the session."""

    name: str
    position: int | None
    """Its place among the positional arguments; nothing where it is keyword-only."""
    is_session: bool
    default: Any = None

    def put(self, positional: list[Any], keywords: dict[str, Any], value: Any) -> None:
        """Fill it. Slots must be filled in their order, since each makes room for itself."""
        if self.position is None:
            keywords[self.name] = value
        else:
            positional.insert(self.position, value)


@dataclass(frozen=True)
class Signature:
    """A handler's signature, taken apart."""

    parameters: tuple[Parameter, ...]
    slots: tuple[Slot, ...]
    returns: Any
    """The type of the result; `REQUIRED` where none is given."""
    is_async: bool


def place_of(function: Callable[..., Any]) -> str:
    """Say where a function is defined, as `file:line`."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "unknown place"


def read(function: Callable[..., Any], name: str) -> Signature:
    """Take the signature of a function or bound method apart.

    Raises:
        HandlerError: It cannot be served; the message names the parameter.

    """

    def refuse(what: str) -> HandlerError:
        return HandlerError(f"handler '{name}' ({place_of(function)}): {what}")

    plain = inspect.unwrap(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise refuse("a generator cannot be a handler; return a list, and report progress through a Context")
    signature = inspect.signature(function)
    parameters: list[Parameter] = []
    slots: list[Slot] = []
    for position, parameter in enumerate(signature.parameters.values()):
        place = None if parameter.kind is inspect.Parameter.KEYWORD_ONLY else position
        if parameter.kind in _VARIADIC:
            stars = _VARIADIC[parameter.kind]
            raise refuse(f"parameter '{stars}{parameter.name}' has no schema; name each parameter, or take a dict")
        if parameter.name == SESSION:
            default = None if parameter.default is REQUIRED else parameter.default
            slots.append(Slot(parameter.name, place, is_session=True, default=default))
            continue
        annotation = _resolved(plain, parameter.name, parameter.annotation, refuse)
        if _is_context(annotation):
            slots.append(Slot(parameter.name, place, is_session=False))
            continue
        if annotation is inspect.Parameter.empty:
            raise refuse(f"parameter '{parameter.name}' has no type; write one, for example '{parameter.name}: str'")
        parameters.append(_parameter(parameter, annotation))
    returns = _resolved(plain, "return", signature.return_annotation, refuse)
    is_async = inspect.iscoroutinefunction(plain)
    return Signature(tuple(parameters), tuple(slots), returns, is_async)


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    # `x: int = None` means that None is allowed, as type checkers read it for years.
    if parameter.default is None and not _is_nullable(annotation):
        annotation = typing.Optional[annotation]  # noqa: UP045 — Annotated and strings have no `|` in Python 3.10
    return Parameter(parameter.name, annotation, parameter.default, parameter.kind is inspect.Parameter.KEYWORD_ONLY)


def _resolved(function: Callable[..., Any], name: str, annotation: Any, refuse: Callable[[str], HandlerError]) -> Any:
    """Turn an annotation that is written as text into the type. One by one, so that the message can name the culprit."""
    if annotation is inspect.Parameter.empty:
        return annotation
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        hints = typing.get_type_hints(
            holder, globalns=getattr(function, "__globals__", {}), localns=_names_around(function), include_extras=True
        )
        return understood(hints[name])
    except Exception as error:
        what = "the return type" if name == "return" else f"the type of parameter '{name}'"
        raise refuse(f"{what}, {annotation!r}, cannot be resolved: {error}") from error


def _names_around(function: Callable[..., Any]) -> dict[str, Any]:
    """Collect what a function defined inside another one can see there, as far as it uses it."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return {}
    visible = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            visible[name] = cell.cell_contents
        except ValueError:
            continue
    return visible


def _is_nullable(annotation: Any) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        return _is_nullable(typing.get_args(annotation)[0])
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return annotation in (None, type(None), Any) or (is_union and type(None) in typing.get_args(annotation))


def _is_context(annotation: Any) -> bool:
    return any(part is Context for part in types_within(annotation))
