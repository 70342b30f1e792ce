"""Scenes with a real worker: questions to the user, in both eras."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from worker_process import MODERN, Message, Worker

ACCEPTED = {"action": "accept", "content": {"sure": True, "amount": 3}}


@pytest.fixture(scope="module")
def legacy() -> Iterator[Worker]:
    with Worker(era="legacy") as process:
        yield process


def ask_again(worker: Worker, name: str, asked: Message, replies: dict[str, Any], **arguments: Any) -> Message:
    again = {"requestState": asked["requestState"], "inputResponses": replies}
    return worker.answer(worker.start_call(name, again=again, **arguments))


def reply(worker: Worker, question: Message, result: Message) -> None:
    worker.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": result}).encode(), b"\n")


def test_modern_round_trip(shared_worker: Worker) -> None:
    asked = shared_worker.call("confirm", what="delete")
    assert asked["resultType"] == "input_required"
    ((key, question),) = asked["inputRequests"].items()
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Really delete?"
    form = question["params"]["requestedSchema"]
    assert form["properties"]["sure"] == {"type": "boolean", "title": "Sure"}
    assert form["required"] == ["sure"]

    other = ask_again(shared_worker, "confirm", asked, {key: ACCEPTED}, what="something else")
    assert other["error"]["code"] == -32602

    done = ask_again(shared_worker, "confirm", asked, {key: ACCEPTED}, what="delete")
    assert done["result"]["structuredContent"] == {"result": "delete: True 3"}
    # It was carried on, not run again.
    assert shared_worker.value("entered").count("confirm delete") == 1

    used = ask_again(shared_worker, "confirm", asked, {key: ACCEPTED}, what="delete")
    assert used["error"]["code"] == -32602


def test_state_names_the_process_as_the_gateway_does() -> None:
    with Worker(env={"TOOLGATE_PROCESS": "3"}) as worker:
        assert worker.call("confirm", what="delete")["requestState"].startswith("3.")


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_modern_refusal(shared_worker: Worker, action: str) -> None:
    asked = shared_worker.call("confirm", what="sell")
    (key,) = asked["inputRequests"]
    done = ask_again(shared_worker, "confirm", asked, {key: {"action": action}}, what="sell")
    assert done["result"]["structuredContent"] == {"result": action}


def test_answer_that_does_not_fit(shared_worker: Worker) -> None:
    asked = shared_worker.call("confirm", what="buy")
    (key,) = asked["inputRequests"]
    wrong = {"action": "accept", "content": {"sure": "perhaps"}}
    done = ask_again(shared_worker, "confirm", asked, {key: wrong}, what="buy")["result"]
    assert done["isError"] is True
    assert "sure" in done["content"][0]["text"]


def test_a_question_that_no_form_can_hold_names_the_field(shared_worker: Worker) -> None:
    result = shared_worker.call("ask_too_much")
    assert result["isError"] is True
    assert "form 'Delivery': the field 'to' is more than a form can hold" in result["content"][0]["text"]
    assert "scene.py" in shared_worker.log()


@pytest.mark.parametrize(("content", "text"), [({}, None), ({"text": "soon"}, "soon")])
def test_what_may_be_left_out_is(shared_worker: Worker, content: Message, text: str | None) -> None:
    asked = shared_worker.call("ask_for_note")
    ((key, question),) = asked["inputRequests"].items()
    assert question["params"]["requestedSchema"] == {
        "type": "object",
        "properties": {"text": {"type": "string", "title": "Text"}},
    }
    done = ask_again(shared_worker, "ask_for_note", asked, {key: {"action": "accept", "content": content}})
    assert done["result"]["structuredContent"] == {"result": f"Note(text={text!r})"}


def test_missing_answers_are_asked_for_again(shared_worker: Worker) -> None:
    asked = shared_worker.call("confirm", what="wait")
    again = ask_again(shared_worker, "confirm", asked, {}, what="wait")["result"]
    assert again["resultType"] == "input_required"
    assert again["inputRequests"] == asked["inputRequests"]
    assert again["requestState"] != asked["requestState"]


@pytest.mark.parametrize("name", ["confirm_blocking", "confirm_both"])
def test_two_questions(shared_worker: Worker, name: str) -> None:
    asked = shared_worker.call(name)
    rounds = 0
    while asked.get("resultType") == "input_required":
        replies = dict.fromkeys(asked["inputRequests"], ACCEPTED)
        asked = ask_again(shared_worker, name, asked, replies)["result"]
        rounds += 1
    assert rounds == 2
    assert asked["structuredContent"]["result"] in ("accept accept", ["accept", "accept"])


def test_a_client_that_cannot_be_asked(shared_worker: Worker) -> None:
    meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    result = shared_worker.answer(shared_worker.start_call("confirm", what="x", meta=meta))["result"]
    assert result["isError"] is True
    assert "cannot ask" in result["content"][0]["text"]


LINKS: Message = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}


def test_a_link_is_asked_only_of_those_who_can_open_it(shared_worker: Worker) -> None:
    asked = shared_worker.answer(shared_worker.start_call("sign_in", meta={**MODERN, **LINKS}))["result"]
    ((key, question),) = asked["inputRequests"].items()
    assert question["params"] == {"mode": "url", "message": "Sign in", "url": "https://shop.example/login"}
    again = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "accept"}}}
    done = shared_worker.answer(shared_worker.start_call("sign_in", again=again, meta={**MODERN, **LINKS}))
    assert done["result"]["structuredContent"] == {"result": "accept"}
    assert shared_worker.call("sign_in")["isError"] is True


def test_legacy_question(legacy: Worker) -> None:
    request_id = legacy.start_call("confirm", what="ship")
    question = legacy.read()
    assert question["method"] == "elicitation/create"
    reply(legacy, question, ACCEPTED)
    assert legacy.answer(request_id)["result"]["structuredContent"] == {"result": "ship: True 3"}


def test_legacy_question_that_fails(legacy: Worker) -> None:
    request_id = legacy.start_call("confirm", what="ship")
    question = legacy.read()
    error = {"code": -1, "message": "no user here"}
    legacy.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "error": error}).encode(), b"\n")
    assert "no user here" in legacy.answer(request_id)["result"]["content"][0]["text"]


def test_legacy_cancellation_of_a_question(legacy: Worker) -> None:
    request_id = legacy.start_call("confirm_blocking")
    question = legacy.read()
    legacy.notify("notifications/cancelled", {"requestId": request_id})
    reply(legacy, question, ACCEPTED)
    assert legacy.value("add", a=1) == 11
    assert legacy.kept == []


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_clients_from_before_there_were_questions(version: str) -> None:
    with Worker(era="legacy", version=version, capabilities={}) as worker:
        assert worker.greeting["protocolVersion"] == version
        assert worker.value("add", a=1) == 11
        for name, arguments in (("confirm", {"what": "ship"}), ("confirm_blocking", {}), ("sign_in", {})):
            result = worker.call(name, **arguments)
            assert result["isError"] is True
            assert "cannot ask" in result["content"][0]["text"]
        assert worker.kept == []


@pytest.mark.parametrize(
    ("version", "members"),
    [("2025-11-25", {"mode", "message", "requestedSchema"}), ("2025-06-18", {"message", "requestedSchema"})],
)
def test_only_clients_who_know_links_are_told_that_it_is_a_form(version: str, members: set[str]) -> None:
    with Worker(era="legacy", version=version) as worker:
        assert worker.greeting["protocolVersion"] == version
        request_id = worker.start_call("confirm", what="ship")
        question = worker.read()
        assert question["params"].keys() == members
        reply(worker, question, ACCEPTED)
        assert worker.answer(request_id)["result"]["structuredContent"] == {"result": "ship: True 3"}


def test_a_link_is_not_sent_where_it_would_be_taken_for_a_form() -> None:
    links: Message = {"elicitation": {"form": {}, "url": {}}}
    with Worker(era="legacy", version="2025-06-18", capabilities=links) as worker:
        worker.start_call("sign_in")
        # Not a question, which nobody would answer.
        assert "cannot ask" in worker.read()["result"]["content"][0]["text"]
    with Worker(era="legacy", capabilities=links) as worker:
        request_id = worker.start_call("sign_in")
        question = worker.read()
        assert question["params"]["mode"] == "url"
        reply(worker, question, {"action": "accept"})
        assert worker.answer(request_id)["result"]["structuredContent"] == {"result": "accept"}
