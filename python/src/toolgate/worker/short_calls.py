"""Calls in short: what a gateway of ours sends instead of a request for a handler that looks at nothing but its arguments.

    [7,"place_order",{"article":"MUG-01","amount":2},"8c1f0a94b7d2e653"]

A line each: the id, the name, the arguments, and the mark of the schema that the gateway has found them to fit. The files
may have changed since it was listed: where the handler's schema has another mark by now, the arguments are checked here. The
answer is that of the legacy era, which says no more than what came of the call. All else that a request says, a handler without
a `Context` never sees; to read it would cost more than many handlers do.

A gateway sends such lines only after it was told, in the `_meta` of the worker's first answer, that they are understood, and
a worker tells so only where a gateway has started it.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

META_UNDERSTOOD = b'"io.toolgate/short-calls":true'
"""The member of `_meta` that says so."""


def unpacked(lines: list[bytes]) -> list[bytes] | list[list[Any]]:
    """Read lines that are all short calls, in one go; anything else is given back as it came."""
    if not all(line.startswith(b"[") for line in lines):
        return lines
    try:
        # Names come again with every call, values mostly do not.
        entries: Any = from_json(b"[" + b",".join(lines) + b"]", allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        # One by one, the line that is to blame will be found.
        return lines
    return entries if len(entries) == len(lines) else lines


def is_whole(entry: list[Any]) -> bool:
    """Tell whether an array is a short call."""
    return len(entry) == 4 and type(entry[0]) is int and type(entry[1]) is str and type(entry[2]) is dict
