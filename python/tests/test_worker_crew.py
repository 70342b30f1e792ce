"""The threads of a worker: who is woken, and when."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolgate.declaration import Declaration
from toolgate.registry import Registry
from toolgate.tool import Pace, Tool
from toolgate.worker.crew import QUIET_TICKS, Crew
from toolgate.worker.server import Server
from toolgate.worker.streams import Output

held = threading.Event()
"""Ends the handler that does not come back."""


def quick(number: int) -> int:
    """Return at once."""
    return number


def failing(number: int) -> int:
    """Fail."""
    raise ValueError(number)


def stuck() -> str:
    """Return when it is told to."""
    held.wait(30)
    return "free"


class Bench:
    """A crew on pipes, supervised step by step by the test."""

    def __init__(self) -> None:
        registry = Registry()
        for function in (quick, failing, stuck):
            registry.add(Tool(function, Declaration()))
        self.registry = registry
        incoming, self.requests = os.pipe()
        self.answers, outgoing = os.pipe()
        self.server = server = Server(registry, [], Output(outgoing), development=False)
        server.peer.version = "2025-11-25"
        server.is_behind_gateway = True
        self.crew = Crew(incoming, server, 4)
        self.rings = 0
        ring = self.crew._bell.ring

        def counted() -> None:
            self.rings += 1
            ring()

        self.crew._bell.ring = counted  # type: ignore[method-assign]
        self.crew.start()

    def send(self, request_id: int, name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        os.write(self.requests, json.dumps(request).encode() + b"\n")

    def send_short(self, request_id: int, name: str, **arguments: Any) -> None:
        tool = self.registry.get(name)
        assert tool is not None
        os.write(self.requests, json.dumps([request_id, name, arguments, tool.mark]).encode() + b"\n")

    def message(self) -> Any:
        return json.loads(os.read(self.answers, 65536))

    def answer(self) -> Any:
        return self.message()["id"]


@pytest.fixture
def bench() -> Iterator[Bench]:
    held.clear()
    bench = Bench()
    yield bench
    held.set()
    os.close(bench.requests)


def test_calls_in_a_row_wake_the_supervisor_once(bench: Bench) -> None:
    for number in range(10):
        bench.send(number, "quick", number=number)
        assert bench.answer() == number
        bench.crew.supervise(0.0)
        bench.crew.supervise(0.0)
    assert bench.rings == 1


def test_after_a_quiet_while_the_supervisor_is_woken_again_and_relieves_a_slow_call(bench: Bench) -> None:
    bench.send(1, "quick", number=1)
    assert bench.answer() == 1
    for _ in range(QUIET_TICKS + 3):
        bench.crew.supervise(0.0)
    bench.send(2, "stuck")
    while bench.rings < 2:
        bench.crew.supervise(0.01)
    bench.send(3, "quick", number=3)
    for _ in range(100):
        bench.crew.supervise(0.0)
    assert bench.answer() == 3
    held.set()
    assert bench.answer() == 2


def test_a_thread_that_stumbles_costs_only_its_message(bench: Bench) -> None:
    receive = bench.server.receive

    def stumbling(line: bytes | list[Any]) -> Any:
        bench.server.receive = receive  # type: ignore[method-assign]
        raise SystemExit("nothing should raise here")

    for number in range(8):
        bench.server.receive = stumbling  # type: ignore[method-assign]
        bench.send(100 + number, "quick", number=number)
        bench.send(number, "quick", number=number)
        assert bench.answer() == number


def test_a_call_in_short_of_a_handler_in_doubt_is_run_aside(bench: Bench) -> None:
    tool = bench.registry.get("quick")
    assert tool is not None
    bench.send_short(1, "quick", number=1)
    assert bench.answer() == 1
    leader = bench.crew._leader
    tool.pace.was_slow()
    bench.send_short(2, "quick", number=2)
    assert bench.answer() == 2
    assert bench.crew._leader == leader + 1


def test_a_call_in_short_is_refused_once_the_worker_is_closed(bench: Bench) -> None:
    bench.server.close()
    bench.send_short(1, "quick", number=1)
    assert bench.message()["error"]["data"]["retryable"] is True


@pytest.mark.parametrize("name", ["quick", "failing"])
def test_a_call_in_short_is_known_or_in_hand_until_it_was_answered(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    crew, server = bench.crew, bench.server
    post, send = crew._post, server.output.send
    tool = bench.registry.get(name)
    assert tool is not None
    known: list[set[int]] = []

    def taken_out(then: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def answering(line: bytes) -> None:
            # As the supervisor does, in the moment in which the answer is about to go out.
            crew.let_go()
            known.append(set(server.calls))
            then(line)

        return answering

    monkeypatch.setattr(crew, "_post", taken_out(post))
    monkeypatch.setattr(server.output, "send", taken_out(send))
    for number in range(8):
        # As if none before had taken long.
        tool.pace = Pace()
        bench.send_short(number, name, number=number)
        assert bench.answer() == number
        assert number in known.pop()
        assert not known
    # Those who answer have still to put things in order.
    deadline = time.monotonic() + 20
    while server.calls or crew._known:
        assert time.monotonic() < deadline
        time.sleep(0.001)
