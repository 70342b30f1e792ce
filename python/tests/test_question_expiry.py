"""Questions that nobody answers: what the handler learns, and what the client is told."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from worker_process import MODERN

from toolgate.context import Context
from toolgate.declaration import Declaration
from toolgate.errors import CallCancelledError, ElicitationUnavailableError
from toolgate.registry import Registry
from toolgate.tool import Tool
from toolgate.worker import questions
from toolgate.worker.server import Server
from toolgate.worker.streams import Output

LEARNT: list[str] = []


class Confirmation(BaseModel):
    sure: bool


async def ask_twice(ctx: Context) -> str:
    """Ask, and ask again when nobody answers."""
    try:
        await ctx.elicit("first", Confirmation)
    except ElicitationUnavailableError as error:
        LEARNT.append(f"{error} {error.retryable}")
    try:
        await ctx.elicit("second", Confirmation)
    except CallCancelledError:
        LEARNT.append("over")
        raise
    return "answered"


class Desk:
    """A worker's side of the conversation on a pipe, in this process, so that its patience can be set."""

    def __init__(self) -> None:
        registry = Registry()
        registry.add(Tool(ask_twice, Declaration()))
        self.answers, self.outgoing = os.pipe()
        self.server = Server(registry, [], Output(self.outgoing), development=False)
        self.server.peer.version = "2025-11-25"
        self.server.peer.capabilities = {"elicitation": {}}

    def call(self, meta: dict[str, Any]) -> None:
        params = {"name": "ask_twice", "arguments": {}, "_meta": meta}
        self.server.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode())
        self.server.loop.kick()

    def read(self) -> Any:
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.answers, 1)
        return json.loads(line)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(questions, "PATIENCE", 0.0)
    LEARNT.clear()
    desk = Desk()
    yield desk
    os.close(desk.answers)
    os.close(desk.outgoing)


def test_legacy_the_handler_learns_of_it_and_may_go_on(desk: Desk) -> None:
    desk.call({})
    first = desk.read()
    assert first["method"] == "elicitation/create"
    assert desk.server.questions.expire() is None
    assert desk.read()["params"] == {"requestId": first["id"], "reason": "the question was open too long"}
    second = desk.read()
    assert second["params"]["message"] == "second"
    assert LEARNT == ["the user did not answer in time True"]
    # A reply that comes too late is none to the second question.
    for key in (first["id"], second["id"]):
        reply = {"jsonrpc": "2.0", "id": key, "result": {"action": "decline"}}
        desk.server.receive(json.dumps(reply).encode())
    assert desk.read()["result"]["structuredContent"] == {"result": "answered"}
    assert not desk.server.calls


def test_modern_a_parked_call_ends(desk: Desk) -> None:
    desk.call(MODERN)
    state = desk.read()["result"]["requestState"]
    assert desk.server.questions.expire() is None
    params = {"name": "ask_twice", "arguments": {}, "_meta": MODERN, "requestState": state, "inputResponses": {}}
    desk.server.receive(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).encode())
    desk.server.output.flush()
    assert "no longer open" in desk.read()["error"]["message"]
    while LEARNT != ["the user did not answer in time True", "over"]:
        pass
    assert not desk.server.calls
