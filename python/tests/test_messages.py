"""Property 5: whatever arrives, a request gets exactly one answer with its id, and nothing else is answered."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from worker_process import MODERN

from toolgate.declaration import Declaration
from toolgate.registry import Registry
from toolgate.tool import Tool
from toolgate.worker.server import Server
from toolgate.worker.streams import Output


class Collected(Output):
    """Keeps what would be written."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.lines: list[Any] = []

    def _write(self, data: bytes) -> None:
        self.lines += [json.loads(line) for line in data.splitlines()]


def add(a: int, b: int = 1) -> int:
    return a + b


def server(*, is_behind_gateway: bool = False) -> tuple[Server, Collected]:
    registry, output = Registry(), Collected()
    registry.add(Tool(add, Declaration()))
    talker = Server(registry, [], output, development=False)
    talker.is_behind_gateway = is_behind_gateway
    return talker, output


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
METHODS = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "server/discover", "logging/setLevel", "notifications/cancelled", "x"]
)
META = st.just(MODERN) | st.fixed_dictionaries({}, optional=dict.fromkeys(MODERN, JSON)) | JSON
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "_meta": META, "name": st.just("add") | JSON, "arguments": st.fixed_dictionaries({"a": JSON}) | JSON, "cursor": JSON,
        "requestState": JSON, "inputResponses": JSON, "requestId": JSON, "level": JSON, "protocolVersion": JSON,
        "capabilities": JSON, "clientInfo": JSON,
    },
)  # fmt: skip
MESSAGES = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": METHODS}, optional={"id": JSON, "params": PARAMS | JSON})


@settings(max_examples=300, deadline=None)
@given(st.lists(MESSAGES | JSON | st.binary(max_size=20), max_size=5))
def test_property_5_answers(messages: list[Any]) -> None:
    talker, output = server()
    for message in messages:
        line = message.replace(b"\n", b" ") if isinstance(message, bytes) else json.dumps(message).encode()
        output.lines.clear()
        call = talker.receive(line)
        if call is not None:
            call.run()
        output.flush()
        is_object = isinstance(message, dict) and isinstance(message.get("method"), str)
        if is_object and message.get("id") is None and isinstance(message.get("params", {}), dict):
            assert output.lines == []
            continue
        if is_object:
            (answer,) = output.lines
            proper = isinstance(message["id"], (int, str)) and not isinstance(message["id"], bool) if "id" in message else False
            assert answer["jsonrpc"] == "2.0"
            assert answer["id"] == message.get("id") or not proper
            assert ("result" in answer) != ("error" in answer)
            assert answer.get("error", {}).get("code") != -32603
        assert len(output.lines) <= 1
    assert talker.calls == {}


MARK = Tool(add, Declaration()).definition["_meta"]["io.toolgate/short-call"]
ENTRIES = st.tuples(
    st.integers(0, 9) | JSON, st.just("add") | JSON, st.fixed_dictionaries({"a": JSON}) | JSON, st.just(MARK) | JSON
).map(list)


@settings(max_examples=300, deadline=None)
@given(st.lists(ENTRIES | st.lists(JSON, max_size=5), min_size=1, max_size=5))
def test_property_5_answers_to_calls_in_short(entries: list[list[Any]]) -> None:
    talker, output = server(is_behind_gateway=True)
    received: Any = talker.read([json.dumps(entry).encode() for entry in entries])
    for entry, line in zip(entries, received, strict=True):
        output.lines.clear()
        call = talker.receive(line)
        if call is not None:
            call.run()
        output.flush()
        (answer,) = output.lines
        assert answer["id"] == (entry[0] if entry and type(entry[0]) is int else None)
        assert ("result" in answer) != ("error" in answer)
        assert answer.get("error", {}).get("code") != -32603
    assert talker.calls == {}
