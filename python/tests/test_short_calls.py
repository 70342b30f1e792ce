"""Calls in short, which only a gateway sends, and only to handlers that look at nothing but their arguments."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field, ValidationError
from worker_process import MODERN, SCENE, Worker

from toolgate.declaration import Declaration
from toolgate.tool import Tool
from toolgate.worker import short_calls


def even(number: int) -> int:
    if number % 2:
        raise ValueError("odd")
    return number


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_only_a_gateway_is_told_of_them(era: str) -> None:
    for env, told in (({"TOOLGATE_GATEWAY": "1"}, True), ({}, None)):
        with Worker(era=era, env=env) as worker:
            greeting = worker.answer(
                worker.send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
                if era == "legacy"
                else worker.send("server/discover", {})
            )
            assert greeting["result"].get("_meta", {}).get("io.toolgate/short-calls") is told


def test_nobody_else_may_send_them() -> None:
    with Worker() as worker:
        worker.write(b'[1,"add",{"a":1},"m"]\n')
        assert worker.read()["error"]["code"] == -32600
        assert worker.value("add", a=1) == 11


def test_the_answer_is_that_of_the_legacy_era() -> None:
    with Worker(era="short") as short, Worker(era="legacy") as usual:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("add", {"a": 1}), ("add_async", {"a": 2, "b": 3}), ("fail", {"kind": "tool"}), ("picture", {}),
            ("add", {"a": "1"}), ("fail", {"kind": "protocol"}), ("nothing", {}),
        ]  # fmt: skip
        for name, arguments in calls:
            in_short, in_full = (worker.answer(worker.start_call(name, **arguments)) for worker in (short, usual))
            assert {**in_short, "id": None} == {**in_full, "id": None}


@pytest.mark.parametrize(
    ("line", "answered", "code"),
    [
        (b'[7,"add",{"a":"\\ud800"},"m"]', 7, -32700),
        (b'[7,"add",{"a":%s},"m"]' % (b"9" * 5000), 7, -32700),
        (b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"\\ud800"}}', 8, -32700),
        (b'{"params":{"name":"\\ud800"},"method":"tools/call","jsonrpc":"2.0","id":"late"}', "late", -32700),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, -32700),
        (b'[7,"add",{"a":1}', None, -32700),
        (b"[" * 100_000, None, -32700),
        (b'[7,"add",{}]', 7, -32600),
        (b'["7","add",{},"m"]', None, -32600),
        (b'[true,"add",{},"m"]', None, -32600),
        (b'[7,"nothing",{},"m"]', 7, -32602),
        (b'[7,"add",{"a":1e400},"m"]', 7, -32602),
        (b'[7,"who",{},"m"]', 7, -32005),
        (b"[]", None, -32600),
    ],
)  # fmt: skip
def test_a_line_that_is_none_harms_no_other(line: bytes, answered: int | str | None, code: int) -> None:
    with Worker(era="short") as worker:
        worker.write(b'[100,"add",{"a":1},"m"]\n' + line + b'\n[101,"add",{"a":2},"m"]\n')
        answers = {answer["id"]: answer for answer in (worker.read() for _ in range(3))}
        assert {100, 101, answered} == set(answers)
        assert answers[answered]["error"]["code"] == code


def test_many_at_once_between_other_messages() -> None:
    with Worker(era="short") as worker:
        ping = b'{"jsonrpc":"2.0","id":"p%d","method":"ping"}\n'
        call = b'[%d,"add",{"a":%d},"m"]\n'
        worker.write(*(call % (number, number) + (ping % number if number % 100 == 0 else b"") for number in range(100, 1900)))
        answers = {answer["id"]: answer["result"] for answer in (worker.read() for _ in range(1818))}
        for number in range(100, 1900):
            assert answers[number]["structuredContent"] == {"result": number + 10}


def test_a_cancelled_call_is_not_answered() -> None:
    with Worker(era="short") as worker:
        waiting = worker.start_call("wait_at_gate", name="short")
        worker.notify("notifications/cancelled", {"requestId": waiting})
        worker.call("open_gate", name="short")
        assert worker.value("add", a=1) == 11
        assert worker.kept == []


def test_one_that_takes_long_holds_up_no_other() -> None:
    with Worker(era="short") as worker:
        # The first of them takes the lead with it; what became of it is still answered, a failure as well as a result.
        for name, said in (("wait_at_gate", {"structuredContent": {"result": "passed"}}), ("fail_at_gate", {"isError": True})):
            waiting = [worker.start_call(name, name=name) for _ in range(8)]
            assert worker.value("add", a=1) == 11
            assert worker.kept == []
            worker.call("open_gate", name=name)
            for request_id in waiting:
                assert said.items() <= worker.answer(request_id)["result"].items()


def test_the_same_id_twice_is_answered_twice() -> None:
    with Worker(era="short") as worker:
        mark = worker.marks["wait_at_gate"]
        worker.write(*[json.dumps([7, "wait_at_gate", {"name": name}, mark]).encode() + b"\n" for name in ("one", "two")])
        assert worker.value("add", a=1) == 11
        for name in ("one", "two"):
            worker.call("open_gate", name=name)
            assert worker.answer(7)["result"]["structuredContent"] == {"result": "passed"}
        assert "stumbled" not in worker.log()


def test_one_that_runs_when_the_worker_is_told_to_end_is_given_up() -> None:
    with Worker(SCENE, "--grace", "0.1", era="short") as worker:
        # The supervisor is awake by then, and will mostly not have looked twice before it is told to end.
        assert worker.value("add", a=1) == 11
        stuck = worker.start_call("say_and_wait", name="never")
        while "at the gate" not in worker.log():
            assert worker.process.poll() is None
        worker.process.send_signal(signal.SIGTERM)
        error = worker.answer(stuck)["error"]
        assert (error["code"], error["data"]["retryable"]) == (-32005, True)


def test_lines_are_read_together_only_where_all_are_calls() -> None:
    def check(lines: list[bytes], expected: list[Any]) -> None:
        assert short_calls.unpacked(lines) == expected

    check([], [])
    check([b'[1,"a",{},"m"]', b'[2,"b",{},"m"]'], [[1, "a", {}, "m"], [2, "b", {}, "m"]])
    for lines in ([b'[1,"a",{}]', b"{}"], [b'[1,"a",{}', b"]"], [b'[1,"a",{}],[2,"a",{}]'], [b'[1,"a",{}]', b"[1]]"]):
        check(lines, lines)


def test_what_a_schema_does_not_say_is_asked_all_the_same() -> None:
    def count(number: Annotated[int, AfterValidator(even)]) -> None: ...

    def name(text: Annotated[str, Field(pattern="^a")]) -> None: ...

    # The schema of a union has the bound under a name that no reader of schemas knows.
    def weigh(grams: Annotated[int | float, Field(ge=0)]) -> None: ...

    def pay(amount: Annotated[int, Field(gt=0, json_schema_extra=lambda schema: schema.pop("exclusiveMinimum"))]) -> None: ...

    def far(steps: Annotated[int, Field(le=10**20)]) -> None: ...

    refused: list[tuple[Callable[..., None], dict[str, Any]]] = [
        (count, {"number": 1}), (name, {"text": "b"}), (weigh, {"grams": -5}), (pay, {"amount": 0}), (far, {"steps": 10**20 + 1}),
    ]  # fmt: skip
    for function, arguments in refused:
        with pytest.raises(ValidationError):
            Tool(function, Declaration()).prepare(arguments, None, are_checked=True)


def test_what_was_checked_is_not_checked_again() -> None:
    def grade(points: Annotated[int, Field(ge=0, le=9)], share: float = 0, note: str | None = None) -> None: ...

    tool = Tool(grade, Declaration())
    assert tool.prepare({"points": 10}, None, are_checked=True) == ([10, 0, None], {})
    with pytest.raises(ValidationError):
        tool.prepare({"points": 10}, None)


def test_what_was_checked_against_another_schema_is_checked_again(tmp_path: Path) -> None:
    source = tmp_path / "tools.py"
    source.write_text(
        "from typing import Annotated\nfrom pydantic import Field\nfrom toolgate import handler\n\n"
        "@handler\ndef grade(points: Annotated[int, Field(le=9)]) -> int:\n    return points\n"
    )
    with Worker(str(source), era="short") as worker:
        listed = worker.marks["grade"]
        assert worker.value("grade", points=10) == 10, "whoever has the mark has checked"
        worker.marks["grade"] = listed[::-1]
        assert worker.answer(worker.start_call("grade", points=10))["error"]["code"] == -32602
        assert worker.value("grade", points=9) == 9


def test_an_annotation_that_cannot_be_compared_is_only_not_plain() -> None:
    def tag(names: list[Annotated[str, ["in", "any", "language"]]]) -> None: ...

    assert Tool(tag, Declaration()).prepare({"names": ["a"]}, None, are_checked=True) == ([["a"]], {})


def test_calls_in_full_are_understood_as_well() -> None:
    # A gateway that does not know short calls speaks to the same worker in full.
    with Worker(env={"TOOLGATE_GATEWAY": "1"}) as worker:
        params = {"name": "add", "arguments": {"a": 4}, "_meta": MODERN}
        worker.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n")
        assert worker.read()["result"]["structuredContent"] == {"result": 14}
