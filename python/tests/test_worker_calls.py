"""Scenes with a real worker over real pipes: calls, results, failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from worker_process import MODERN, SCENE, Worker

from toolgate.worker.server import MOST_CALLS


@pytest.fixture(params=["modern", "legacy", "short"], scope="module")
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(era=request.param) as process:
        yield process


def test_results(worker: Worker) -> None:
    plain = worker.call("add", a=1, b=2)
    assert plain["content"] == [{"type": "text", "text": "3"}]
    assert plain["structuredContent"] == {"result": 3}
    assert plain.get("resultType") == ("complete" if worker.era == "modern" else None)
    day = worker.call("tomorrow", day="2026-07-28")
    assert (day["content"][0]["text"], day["structuredContent"]) == ("2026-07-29", {"result": "2026-07-29"})
    assert worker.value("add_async", a=5) == 15
    assert worker.value("count_up") == 1
    assert worker.value("count_up", by=2) == 3
    assert worker.value("twice", n=4) == 8
    assert worker.value("label_later") == "top"
    assert worker.value("with_session", suffix="!") == "a session!"
    assert worker.value("entered")[-2:] == ["session opened", "session closed"]
    assert worker.call("open_gate", name="unused")["content"] == []


def test_content(worker: Worker) -> None:
    assert worker.call("picture")["content"] == [{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}]
    assert worker.call("sound")["content"] == [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]
    said = worker.call("plain_text")
    assert said["content"] == [{"type": "text", "text": 'say "hi"'}]
    assert "structuredContent" not in said
    refused = worker.call("refused_by_hand")
    assert refused["isError"] is True
    assert (refused["content"], refused["structuredContent"]) == ([{"type": "text", "text": "sold out"}], {"left": 0})
    kinds = [block["type"] for block in worker.call("mixed")["content"]]
    assert kinds == ["text", "text", "image", "resource", "resource_link"]
    assert worker.call("raw_bytes")["content"][0]["resource"]["blob"] == "AP8="
    by_hand = worker.call("by_hand")
    assert by_hand["structuredContent"] == {"n": 1}
    assert by_hand["_meta"]["example/key"] == 2


def test_null_counts_as_absent(worker: Worker) -> None:
    assert worker.value("add", a=1, b=None) == 11


@pytest.mark.parametrize(
    ("arguments", "path"),
    [({"a": "1"}, "/a"), ({}, "/a"), ({"a": 1, "c": 2}, "/c"), ({"a": None}, "/a"), ({"a": 1.5}, "/a")],
)
def test_invalid_arguments_do_not_run(worker: Worker, arguments: dict[str, Any], path: str) -> None:
    error = worker.answer(worker.start_call("add", **arguments))["error"]
    assert error["code"] == -32602
    assert [fault["path"] for fault in error["data"]["errors"]] == [path]


def test_failures_are_results(worker: Worker) -> None:
    told = worker.call("fail", kind="tool")
    assert told["isError"] is True
    assert told["content"] == [{"type": "text", "text": "the shelf is empty"}]
    about = told["_meta"]["io.toolgate/error"]
    assert about == {"code": -32005, "type": "ToolError", "retryable": True, "details": {"shelf": 7}}
    unforeseen = worker.call("fail", kind="other")
    assert unforeseen["content"][0]["text"] == "ValueError: no such kind: other"
    assert "traceback" not in unforeseen["_meta"]["io.toolgate/error"]
    assert worker.call("fail", kind="exit")["isError"] is True
    for name in ("wrong_type", "half_a_pair"):
        assert "not what it declares" in worker.call(name)["content"][0]["text"]
    protocol = worker.answer(worker.start_call("fail", kind="protocol"))["error"]
    assert protocol == {"code": -32005, "message": "the warehouse is closed", "data": {"retryable": True}}
    assert 'raise ValueError(f"no such kind: {kind}")' in worker.log()


def test_a_validator_that_fails_ends_its_call_and_no_other(worker: Worker) -> None:
    assert worker.value("with_validator", code="a") == "apple"
    # One more than may be under way: none of them stays.
    for _ in range(MOST_CALLS + 1):
        failed = worker.call("with_validator", code="b")
        assert failed["content"][0]["text"] == "KeyError: 'b'"


@pytest.mark.parametrize("name", ["fail_unspeakably", "fail_unspeakably_later"])
def test_failures_that_have_no_json_form_are_answered(worker: Worker, name: str) -> None:
    half = worker.call(name, kind="other")
    assert half["isError"] is True
    assert half["content"][0]["text"] == "ValueError: half a pair: \\ud800"
    mute = worker.call(name, kind="message")
    assert mute["content"][0]["text"] == "Unspeakable: its message cannot be read (SystemExit)"
    for kind, error in (("details", "ToolError"), ("protocol", "ProtocolError")):
        refused = worker.answer(worker.start_call(name, kind=kind))["error"]
        assert refused["code"] == -32005
        assert error in refused["message"]


def test_failures_that_have_no_json_form_cost_no_thread() -> None:
    # Both threads have run some of these by then, in the lead and out of the queue.
    with Worker(SCENE, "--threads", "2") as worker:
        waiting = [worker.start_call("wait_at_gate", name="crew") for _ in range(2)]
        failing = [worker.start_call("fail_unspeakably", kind=kind) for kind in ("message", "details", "protocol") * 4]
        opening = worker.start_call("open_gate_async", name="crew")
        for request_id in [*waiting, *failing, opening]:
            worker.answer(request_id)
        assert worker.value("add", a=1) == 11


def test_traceback_in_development() -> None:
    with Worker(SCENE, env={"TOOLGATE_DEV": "1"}) as worker:
        about = worker.call("fail", kind="other")["_meta"]["io.toolgate/error"]
        assert "scene.py" in about["traceback"]


def test_a_blocked_thread_blocks_nobody(worker: Worker) -> None:
    waiting = [worker.start_call("wait_at_gate", name="blocked") for _ in range(8)]
    assert worker.value("add", a=1) == 11
    assert worker.value("add_async", a=1) == 11
    worker.call("open_gate", name="blocked")
    for request_id in waiting:
        assert worker.answer(request_id)["result"]["structuredContent"] == {"result": "passed"}


def test_more_calls_than_threads() -> None:
    with Worker(SCENE, "--threads", "2", "--grace", "0.1") as worker:
        waiting = [worker.start_call("wait_at_gate", name=str(number)) for number in range(4)]
        opening = worker.start_call("open_gate", name="0")
        assert worker.value("add_async", a=1) == 11
        assert worker.answer(worker.send("tools/list", {}))["result"]["tools"]
        # Both threads wait at a gate, and so does the call that would open one. A question is answered all the same.
        assert worker.kept == []
        worker.close()
        stopped = [worker.answer(request_id)["error"] for request_id in [*waiting, opening]]
        assert {(error["code"], error["data"]["retryable"]) for error in stopped} == {(-32005, True)}


def test_cancellation(worker: Worker) -> None:
    for name in ("wait_forever", "work_until_cancelled"):
        request_id = worker.start_call(name, meta={"progressToken": "t"})
        assert worker.read()["method"] == "notifications/progress"
        worker.notify("notifications/cancelled", {"requestId": request_id, "reason": "test"})
        while f"{name} was cancelled" not in worker.value("entered"):
            pass
        assert all(message.get("id") != request_id for message in worker.kept)


def test_progress_log_and_caller(worker: Worker) -> None:
    level = {"io.modelcontextprotocol/logLevel": "warning"}
    if worker.era == "legacy":
        worker.answer(worker.send("logging/setLevel", {"level": "warning"}))
    result = worker.answer(worker.start_call("steps", count=2, meta={"progressToken": 7, **level}))["result"]
    assert result["structuredContent"] == {"result": "scene 9"}
    first, second, logged = worker.kept
    assert first["params"] == {"progressToken": 7, "progress": 1, "total": 2, "message": "step 1"}
    assert second["params"]["progress"] == 2
    assert logged["params"] == {"level": "warning", "logger": "steps", "data": {"steps": 2}}
    worker.kept.clear()


CALLER = {"io.toolgate/caller": {"id": "anna", "groups": ["staff"]}, "example/note": "n"}


@pytest.mark.parametrize(
    ("env", "told"),
    [({"TOOLGATE_GATEWAY": "1"}, {"id": "anna", "groups": ["staff"]}), ({}, {"id": None, "groups": []})],
)
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_only_a_gateway_says_who_calls(era: str, env: dict[str, str], told: dict[str, Any]) -> None:
    with Worker(era=era, env=env) as worker:
        result = worker.answer(worker.start_call("who", meta=CALLER))["result"]
        assert result["structuredContent"] == {**told, "note": "n"}
        tools = worker.answer(worker.send("tools/list", {}))["result"]["tools"]
        wanting = {tool["name"] for tool in tools if "io.toolgate/wants-caller" in tool.get("_meta", {})}
        assert {"who", "steps"} <= wanting
        assert not {"add", "with_session"} & wanting


def test_nothing_is_sent_that_was_not_asked_for(shared_worker: Worker) -> None:
    shared_worker.call("steps", count=2)
    assert shared_worker.kept == []


def test_stray_output_goes_to_the_log(worker: Worker) -> None:
    assert worker.value("noise") == "quiet"
    log = worker.log()
    for line in ("printed", "written", "raw", "child", "got:"):
        assert line in log


def test_children_do_not_get_the_pipes(worker: Worker) -> None:
    # 0, 1, 2, and the folder that ls reads.
    assert worker.value("descriptors_in_child").split() == ["0", "1", "2", "3"]


def test_eras() -> None:
    with Worker(era="bare") as worker:
        refused = worker.answer(worker.send("tools/list", {}))["error"]
        assert refused["code"] == -32602
        assert "initialize" in refused["message"]
        old = {**MODERN, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}
        refused = worker.answer(worker.send("tools/list", {}, meta=old))["error"]
        assert refused["code"] == -32022
        assert refused["data"] == {"supported": ["2026-07-28"], "requested": "1900-01-01"}
        found = worker.answer(worker.send("server/discover", {}, meta=MODERN))["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        assert found["cacheScope"] == "public"
        greeted = worker.answer(worker.send("initialize", {"protocolVersion": "2030-01-01", "capabilities": {}}))
        assert greeted["result"]["protocolVersion"] == "2025-11-25"
        assert worker.answer(worker.send("ping", {}))["result"] == {}
        assert worker.answer(worker.send("tools/list", {}))["result"]["tools"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
        (b'\xff\xfe', -32700),
    ],
)  # fmt: skip
def test_bad_messages(shared_worker: Worker, line: bytes, code: int) -> None:
    shared_worker.write(line + b"\n")
    assert shared_worker.read()["error"]["code"] == code
    assert shared_worker.answer(shared_worker.send("ping", {}))["result"] == {}


def test_partial_lines_and_many_at_once(worker: Worker) -> None:
    ping = b'{"jsonrpc":"2.0","id":"%d","method":"ping"}\n'
    worker.write((ping % 0)[:9])
    worker.write((ping % 0)[9:])
    assert worker.read()["id"] == "0"
    worker.write(*(ping % number for number in range(500)))
    assert [worker.read()["id"] for _ in range(500)] == [str(number) for number in range(500)]


def test_unknown_tool_and_cursor(worker: Worker) -> None:
    assert worker.answer(worker.start_call("nothing"))["error"]["code"] == -32602
    assert worker.answer(worker.send("tools/list", {"cursor": "0.99"}))["error"]["code"] == -32602
