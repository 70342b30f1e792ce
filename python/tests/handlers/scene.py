"""Handlers for the scenes: each shows one behaviour of the worker."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from toolgate import (
    Audio,
    CallCancelledError,
    Context,
    Image,
    ProtocolError,
    Resource,
    ResourceLink,
    Result,
    Text,
    ToolError,
    handler,
    register,
)

GATES: defaultdict[str, threading.Event] = defaultdict(threading.Event)
ENTERED: list[str] = []


class Confirmation(BaseModel):
    sure: bool
    amount: Annotated[int, Field(ge=0)] = 1


class Delivery(BaseModel):
    to: Confirmation
    note: str | None = None


class Note(BaseModel):
    text: str | None = None


@handler
def add(a: int, b: int = 10) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


@handler
async def add_async(a: int, b: int = 10) -> int:
    """Add two numbers, later."""
    await asyncio.sleep(0)
    return a + b


@handler
def wait_at_gate(name: str) -> str:
    """Block its thread until the gate is opened."""
    GATES[name].wait(60)
    return "passed"


@handler
def fail_at_gate(name: str) -> str:
    """Block its thread until the gate is opened, and fail then."""
    raise ValueError(wait_at_gate(name))


@handler
def say_and_wait(name: str) -> str:
    """Tell the log that it blocks its thread."""
    print("at the gate", flush=True)
    return wait_at_gate(name)


@handler
def open_gate(name: str) -> None:
    """Let those who wait at the gate pass."""
    GATES[name].set()


@handler
async def open_gate_async(name: str) -> None:
    """Let them pass although no thread is free."""
    GATES[name].set()


@handler
async def wait_forever(ctx: Context) -> str:
    """Wait until it is cancelled."""
    ctx.progress(0, message="begun")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        ENTERED.append("wait_forever was cancelled")
        raise
    return "never"


@handler
def work_until_cancelled(ctx: Context) -> str:
    """Work until it is cancelled."""
    ctx.progress(0, message="begun")
    while True:
        try:
            ctx.raise_if_cancelled()
        except CallCancelledError:
            ENTERED.append("work_until_cancelled was cancelled")
            raise
        time.sleep(0.001)


@handler
def entered() -> list[str]:
    """Tell what happened so far."""
    return ENTERED


@handler
def steps(ctx: Context, count: int) -> str:
    """Report progress and log."""
    for step in range(count):
        ctx.progress(step + 1, count, f"step {step + 1}")
    ctx.debug("not wanted")
    ctx.warning({"steps": count})
    return f"{ctx.caller.name} {ctx.caller.version}"


@handler
async def confirm(ctx: Context, what: str) -> str:
    """Ask the user."""
    ENTERED.append(f"confirm {what}")
    answer = await ctx.elicit(f"Really {what}?", Confirmation)
    if not answer.accepted or answer.data is None:
        return answer.action
    return f"{what}: {answer.data.sure} {answer.data.amount}"


@handler
def confirm_blocking(ctx: Context) -> str:
    """Ask the user twice, from a thread."""
    first = ctx.elicit_blocking("first", Confirmation)
    second = ctx.elicit_blocking("second", Confirmation)
    return f"{first.action} {second.action}"


@handler
async def confirm_both(ctx: Context) -> list[str]:
    """Ask the user two things at a time."""
    answers = await asyncio.gather(ctx.elicit("left", Confirmation), ctx.elicit("right", Confirmation))
    return [answer.action for answer in answers]


@handler
async def ask_too_much(ctx: Context) -> str:
    """Ask with a form inside of a form."""
    return (await ctx.elicit("Where to?", Delivery)).action


@handler
def ask_for_note(ctx: Context) -> str:
    """Ask for what may be left out."""
    return repr(ctx.elicit_blocking("A note?", Note).data)


@handler
def fail(kind: str) -> str:
    """Fail in one of several ways."""
    if kind == "tool":
        raise ToolError("the shelf is empty", details={"shelf": 7}, retryable=True)
    if kind == "protocol":
        raise ProtocolError("the warehouse is closed", data={"retryable": True})
    if kind == "exit":
        sys.exit(3)
    raise ValueError(f"no such kind: {kind}")


class Unspeakable(Exception):
    """Fails once more where it is asked what happened."""

    def __str__(self) -> str:
        raise SystemExit("no words")


@handler
def fail_unspeakably(kind: str) -> str:
    """Fail with something that has no JSON form."""
    if kind == "message":
        raise Unspeakable
    if kind == "details":
        raise ToolError("see the details", details={"half": "\ud800"})
    if kind == "protocol":
        raise ProtocolError("see the data", data=Unspeakable())
    raise ValueError("half a pair: \ud800")


@handler
async def fail_unspeakably_later(kind: str) -> str:
    """Fail with something that has no JSON form, in the event loop."""
    return fail_unspeakably(kind)


def look_up(code: str) -> str:
    """Validate a code by a table, and forget that the table may not have it."""
    return {"a": "apple"}[code]


@handler
def with_validator(code: Annotated[str, AfterValidator(look_up)]) -> str:
    """Take a code."""
    return code


@handler
def half_a_pair() -> str:
    """Return a text that JSON does not have."""
    return "\ud800"


@handler
def wrong_type() -> int:
    """Return something else than it declares."""
    return "not a number"  # type: ignore[return-value]


@handler
def noise() -> str:
    """Print wherever it can."""
    print("printed")
    sys.stdout.write("written\n")
    os.write(1, b"raw\n")
    subprocess.run(["sh", "-c", "echo child; read line; echo got:$line"], check=True)
    return "quiet"


@handler
def descriptors_in_child() -> str:
    """List what a child process has open."""
    return subprocess.run(["ls", "/proc/self/fd"], check=True, capture_output=True, text=True).stdout


@handler
def picture() -> Image:
    """Return a picture."""
    return Image(b"\x89PNG")


@handler
def mixed() -> list[object]:
    """Return several kinds of content."""
    return ["text", {"n": 1}, Image(b"x", "image/gif"), Resource("file:///a", "hi"), ResourceLink("file:///b", "b")]


@handler
def sound() -> Audio:
    """Return a sound."""
    return Audio(b"RIFF")


@handler
def plain_text() -> Text:
    """Return text that is no JSON text."""
    return Text('say "hi"')


@handler
def refused_by_hand() -> Result:
    """Return a failure put together by hand."""
    return Result(content=[Text("sold out")], structured={"left": 0}, is_error=True)


@handler
def who(ctx: Context) -> dict[str, object]:
    """Tell who called, and what came along."""
    return {"id": ctx.caller.id, "groups": list(ctx.caller.groups), "note": ctx.meta.get("example/note")}


@handler
async def sign_in(ctx: Context) -> str:
    """Send the user to a page."""
    return (await ctx.elicit_url("Sign in", "https://shop.example/login")).action


@handler
def raw_bytes() -> bytes:
    """Return bytes."""
    return b"\x00\xff"


@handler
def by_hand() -> Result:
    """Return a result put together by hand."""
    return Result(content=["seen"], structured={"n": 1}, meta={"example/key": 2})


@contextlib.contextmanager
def open_session() -> Iterator[str]:
    """Stand for a database session."""
    ENTERED.append("session opened")
    yield "a session"
    ENTERED.append("session closed")


@handler(session=open_session)
def with_session(session: str, suffix: str) -> str:
    """Use a session."""
    return session + suffix


class Counter:
    def __init__(self) -> None:
        self.count = 0

    @handler
    def count_up(self, by: int = 1) -> int:
        """Count."""
        self.count += by
        return self.count

    @handler
    @staticmethod
    def twice(n: int) -> int:
        """Double."""
        return 2 * n


counter = Counter()


class Shelf:
    """Made where the worker does not look."""

    def __init__(self, label: str) -> None:
        self.label = label

    @handler
    async def label_later(self) -> str:
        """Tell the label, later."""
        await asyncio.sleep(0)
        return self.label


def furnish() -> None:
    """Put up a shelf."""
    register(Shelf("top"))


furnish()


@handler
def tomorrow(day: date) -> date:
    """Tell the next day."""
    return day + timedelta(days=1)
