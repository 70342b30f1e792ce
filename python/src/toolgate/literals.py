"""Literals of enumerations, such as `Literal[Status.PAID]`.

Their schema lists the values, yet pydantic accepts only the members themselves, which JSON cannot have. So each of them is
read by its value first, wherever in a type it stands. Those inside of models are left to the models.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import getitem
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BeforeValidator


def readable(annotation: Any) -> Any:
    """Return a type that means the same and can be read from JSON."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        members = [part for part in parts if isinstance(part, Enum)]
        return Annotated[annotation, BeforeValidator(_by_value(members))] if members else annotation
    if origin is Annotated:
        inner = readable(parts[0])
        return annotation if inner is parts[0] else getitem(Annotated, (inner, *parts[1:]))
    # The arguments of a callable are a list, which no type of JSON has.
    rebuilt = tuple(part if isinstance(part, list) else readable(part) for part in parts)
    if all(new is old for new, old in zip(rebuilt, parts, strict=True)):
        return annotation
    return getitem(Union if origin is UnionType else origin, rebuilt)


def _by_value(members: list[Enum]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        # By type as well: to Python, `True` is 1.
        for member in members:
            if type(value) is type(member.value) and value == member.value:
                return member
        return value

    return read
