"""Literals of enumerations, such as `Literal[Status.PAID]`.

Their schema lists the values, yet pydantic accepts only the members themselves, which JSON cannot have. So each of them is
read by its value first, wherever in a type it stands. Those inside of models are left to the models.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BeforeValidator

from toolgate.parts import with_parts


def readable(annotation: Any) -> Any:
    """Return a type that means the same and can be read from JSON."""
    if get_origin(annotation) is Literal:
        members = [part for part in get_args(annotation) if isinstance(part, Enum)]
        return Annotated[annotation, BeforeValidator(_by_value(members))] if members else annotation
    return with_parts(annotation, readable)


def _by_value(members: list[Enum]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        # By type as well: to Python, `True` is 1.
        for member in members:
            if type(value) is type(member.value) and value == member.value:
                return member
        return value

    return read
