"""TypedDicts of `typing` on a Python before 3.12, where pydantic takes only those of `typing_extensions`.

It needs their bases, which the older classes forget. So each has a twin made with `typing_extensions`, of the same name,
fields and demands; the values of both are plain dicts. Those that stand in a model, a dataclass or a named tuple are left to
pydantic, which refuses them and says why.
"""

from __future__ import annotations

import sys
import types
import typing
from operator import getitem
from typing import Any, Generic, get_args, get_origin

from typing_extensions import TypedDict, get_type_hints

from toolgate.parts import with_parts


class _Empty(typing.TypedDict):
    pass


_OF_THE_CLASS = (vars(_Empty).keys() | {"__orig_bases__", "__parameters__"}) - {"__doc__", "__module__"}
"""What a class has as a TypedDict. The rest of it was written by its author: settings and validators for pydantic."""

_TWINS: dict[Any, Any] = {}
"""One twin for each, so that a schema describes a type once."""


def understood(annotation: Any) -> Any:
    """Return a type that means the same and that pydantic takes."""
    if sys.version_info >= (3, 12):
        return annotation
    known = dict(_TWINS)
    twin = _understood(annotation, known)
    # Only now: one whose fields cannot be resolved must not be kept without them.
    _TWINS.update(known)
    return twin


def _understood(annotation: Any, known: dict[Any, Any]) -> Any:
    if typing.is_typeddict(annotation):
        return known[annotation] if annotation in known else _twin(annotation, known)
    origin = get_origin(annotation)
    if typing.is_typeddict(origin):
        return _understood(origin, known)[tuple(_understood(part, known) for part in get_args(annotation))]
    return with_parts(annotation, lambda part: _understood(part, known))


def _twin(original: Any, known: dict[Any, Any]) -> Any:
    hints = get_type_hints(original, include_extras=True)
    parameters = getattr(original, "__parameters__", ())
    bases: Any = (TypedDict, getitem(Generic, parameters)) if parameters else (TypedDict,)  # type: ignore[call-overload]
    written = {name: value for name, value in vars(original).items() if name not in _OF_THE_CLASS}
    twin: Any = types.new_class(original.__name__, bases, {"total": original.__total__}, lambda body: body.update(written))
    # Before its fields, which may be of the very type.
    known[original] = twin
    twin.__qualname__ = original.__qualname__
    twin.__annotations__ = {name: _understood(hint, known) for name, hint in hints.items()}
    # As far as the class knows: `Required` and `NotRequired` are still in the hints, and count for more.
    twin.__required_keys__ = original.__required_keys__
    twin.__optional_keys__ = original.__optional_keys__
    return twin
