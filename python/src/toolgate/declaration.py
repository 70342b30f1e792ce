"""The decorator `handler`: marks a function or method as a tool and keeps what its author says about it.

Nothing is inspected here. A decorator runs while its module is being imported, when classes that are named further
down do not exist yet; signatures are read when the whole module is there. The function itself is returned unchanged,
so decorated code stays ordinary code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeGuard, TypeVar, overload

MARK = "__toolgate_handler__"
"""The attribute under which a function carries its declaration."""

F = TypeVar("F", bound="Callable[..., Any] | staticmethod[..., Any] | classmethod[Any, ..., Any]")

T = TypeVar("T")

_registered: list[object] = []


@dataclass(frozen=True)
class Declaration:
    """What the author of a handler said about it. Everything that is `None` is found out or left out."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    price: Decimal | int | float | str | None = None
    expected_duration: timedelta | float | None = None
    supports_async: bool | None = None
    skill: str | None = None
    tags: Sequence[str] = ()
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    session: Callable[[], Any] | None = None


@overload
def handler(function: F, /) -> F: ...


@overload
def handler(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    price: Decimal | int | float | str | None = None,
    expected_duration: timedelta | float | None = None,
    supports_async: bool | None = None,
    skill: str | None = None,
    tags: Sequence[str] = (),
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    session: Callable[[], Any] | None = None,
) -> Callable[[F], F]: ...


def handler(function: F | None = None, /, **said: Any) -> F | Callable[[F], F]:
    """Make a function or method a tool, bare (`@handler`) or with arguments (`@handler(price="0.05")`).

    Args:
        function: The function, where the decorator is used bare.
        **said: What to say about it:

            name: The tool's name; otherwise that of the function.
            title: A name for people.
            description: What models read; otherwise the first paragraph of the docstring.
            price: What a call costs, in the gateway's units; exact to a millionth.
            expected_duration: How long a call usually takes, in seconds or as a `timedelta`; clients are told.
            supports_async: Whether a call may run on as a task while its client is away; clients are told.
            skill: The skill that explains the tool, as `category/name`.
            tags: Words that say what it is about; clients are told.
            read_only: It changes nothing.
            destructive: It may destroy something, and not only add.
            idempotent: Calling it again with the same arguments changes nothing more; clients are told, who may then
                repeat a call that was lost. The gateway itself repeats none.
            open_world: It reaches out to things beyond this system.
            session: Makes what a parameter named `session` gets: a value, or a context manager that is entered around
                the call.

    """
    declaration = Declaration(**said)

    def mark(target: F) -> F:
        plain = target.__func__ if isinstance(target, (staticmethod, classmethod)) else target
        if not callable(plain) or isinstance(plain, type):
            raise TypeError(f"@handler belongs on a function or method, not on {target!r}")
        setattr(plain, MARK, declaration)
        return target

    return mark if function is None else mark(function)


def register(candidate: T) -> T:
    """Serve the handlers of an object that is not at the top of its module, such as an instance made in a function."""
    _registered.append(candidate)
    return candidate


def take_registered() -> list[object]:
    """Return what was registered since the last time."""
    taken = list(_registered)
    _registered.clear()
    return taken


def declaration_of(candidate: object) -> Declaration | None:
    """Return what was said about a function or method, or nothing where it is no handler.

    Many modules have proxies at their top that stand for something of the present request, and raise what they like
    where there is none.
    """
    try:
        found = getattr(candidate, MARK, None)
    except Exception:
        return None
    return found if isinstance(found, Declaration) else None


def handlers_of(candidate: object) -> Iterator[tuple[Callable[..., Any], Declaration]]:
    """Find the handlers that an object brings with it: itself, or the marked methods of an instance.

    A class brings those of its static and class methods; the others need an instance.
    """
    own = declaration_of(candidate)
    if own is not None and callable(candidate):
        yield candidate, own
        return
    for attribute in marked_attributes(candidate if is_class(candidate) else type(candidate)):
        member = getattr(candidate, attribute)
        declaration = declaration_of(member)
        if declaration is not None and not needs_instance(candidate, attribute):
            yield member, declaration


def marked_attributes(owner: type) -> Iterator[str]:
    """Name the marked methods of a class, those of its bases included, in the order of their definition."""
    seen: set[str] = set()
    for base in reversed(owner.__mro__):
        for attribute, member in vars(base).items():
            plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
            if attribute not in seen and callable(plain) and declaration_of(plain) is not None:
                seen.add(attribute)
                yield attribute


def is_class(candidate: object) -> TypeGuard[type]:
    """Tell whether something is a class, by what it is and not by what it says: a proxy may raise where it is asked."""
    return issubclass(type(candidate), type)


def needs_instance(candidate: object, attribute: str) -> bool:
    """Tell whether a method of a class can only be called on an instance of it."""
    if not is_class(candidate):
        return False
    for base in candidate.__mro__:
        if attribute in vars(base):
            return not isinstance(vars(base)[attribute], (staticmethod, classmethod))
    return False
