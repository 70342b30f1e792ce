"""What types are made of: `list[int] | None` of `list[int]` and `None`, and `list[int]` of `int`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import getitem
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin


def types_within(annotation: Any) -> Iterator[Any]:
    """Go through a type and everything it is made of: `list[int] | None` gives itself, both sides, and `int`."""
    yield annotation
    for part in get_args(annotation):
        yield from types_within(part)


def with_parts(annotation: Any, change: Callable[[Any], Any]) -> Any:
    """Return a type with each of its parts changed; the type itself where nothing is."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = change(parts[0])
        return annotation if inner is parts[0] else getitem(Annotated, (inner, *parts[1:]))
    # The arguments of a callable are a list, which no type of JSON has.
    rebuilt = tuple(part if isinstance(part, list) else change(part) for part in parts)
    if all(new is old for new, old in zip(rebuilt, parts, strict=True)):
        return annotation
    # Some, as `NotRequired`, take one part and no tuple.
    return getitem(Union if origin is UnionType else origin, rebuilt[0] if len(rebuilt) == 1 else rebuilt)
