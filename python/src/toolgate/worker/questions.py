"""Questions to the user, in both eras.

Legacy: a request of ours to the client, answered on the same connection. Modern: the call's request ends with
`input_required`, the call is parked, and the client repeats the request with the answers. The repeated request must name
the parked call by a random `requestState`, which works once, and must have the same tool and arguments.

A parked handler keeps its place: it is not run again. So it lives in this process only, whose number begins the
`requestState`, for gateways that have several workers to choose from: the one that the gateway gave it in
`TOOLGATE_PROCESS`, otherwise that of the operating system.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolgate.errors import CallCancelledError, ElicitationUnavailableError
from toolgate.worker import messages

if TYPE_CHECKING:
    from concurrent.futures import Future

    from toolgate.worker.call import Call
    from toolgate.worker.server import Server

MOST_OPEN = 1000
"""How many calls may wait for their users at a time."""

PATIENCE = 600.0
"""How many seconds a user has to answer."""

MODES_SINCE = "2025-11-25"
"""The revision before which every question was a form, and did not say so."""

Reply: TypeAlias = "Future[dict[str, Any]]"


class Questions:
    """The questions that are open."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = RLock()
        self._parked: dict[str, tuple[Call, float]] = {}
        self._sent: dict[str, tuple[Call, float]] = {}
        self._count = 0

    def ask(self, call: Call, params: dict[str, Any], mode: Literal["form", "url"]) -> Reply:
        """Put a question; what it returns is done when the user has answered."""
        from concurrent.futures import Future  # brings logging with it, and most workers ask nothing

        reply: Reply = Future()
        if call.is_cancelled:
            reply.set_exception(CallCancelledError("the call was cancelled"))
            return reply
        knows_modes = call.modern or self._server.peer.version >= MODES_SINCE
        if not _can_answer(self._server.capabilities_of(call), mode) or (mode == "url" and not knows_modes):
            reply.set_exception(ElicitationUnavailableError("the client cannot ask its user questions of this kind"))
            return reply
        with self._lock:
            if len(self._parked) + len(self._sent) >= MOST_OPEN:
                reply.set_exception(ElicitationUnavailableError("too many questions are open", retryable=True))
                return reply
            self._count += 1
            key = f"q{self._count}"
            call.questions[key] = (params, reply)
            if call.modern:
                self._park(call)
            else:
                self._sent[key] = (call, time.monotonic() + PATIENCE)
                if not knows_modes:
                    params = {name: value for name, value in params.items() if name != "mode"}
                self._server.output.send(messages.request(key, "elicitation/create", params))
        self._server.wake()
        return reply

    def resume(
        self, state: str, name: Any, arguments: Any, responses: Any, request_id: Any, meta: Mapping[str, Any]
    ) -> str | None:
        """Carry on with a parked call; or say why that is not possible."""
        with self._lock:
            call = self._parked[state][0] if state in self._parked else None
            if call is None:
                return "the question is no longer open; make the call anew, without requestState"
            if call.tool.name != name or call.arguments != arguments:
                return "requestState belongs to a call with another tool or other arguments"
            del self._parked[state]
            self._server.calls[request_id] = call
            if not call.resume(request_id, meta):
                return None
            given = responses if isinstance(responses, dict) else {}
            for key in [key for key in call.questions if isinstance(given.get(key), dict)]:
                _, reply = call.questions.pop(key)
                if not reply.done():
                    reply.set_result(given[key])
            if call.questions:
                self._park(call)
        return None

    def keep(self, call: Call, outcome: Callable[[Any], bytes]) -> bool:
        """Keep the answer of a call while it is parked; false where it no longer is."""
        with self._lock:
            if call.request_id is not None:
                return False
            call.keep(outcome)
            return True

    def answered(self, key: Any, message: dict[str, Any]) -> None:
        """Take a client's reply to a request of ours. One to a question that is no longer open is ignored."""
        with self._lock:
            if not isinstance(key, str) or key not in self._sent:
                return
            call, _ = self._sent.pop(key)
            _, reply = call.questions.pop(key)
        if reply.done():
            return
        result = message.get("result")
        if isinstance(result, dict):
            reply.set_result(result)
        else:
            fault = message.get("error")
            why = fault.get("message") if isinstance(fault, dict) else "no result"
            reply.set_exception(ElicitationUnavailableError(f"the client could not ask its user: {why}"))

    def forget(self, call: Call) -> None:
        """Drop the questions of a call that is over."""
        with self._lock:
            for key in call.questions:
                self._sent.pop(key, None)

    def expire(self) -> float | None:
        """Give up on questions that were open too long, and say in how many seconds to come again."""
        if not self._parked and not self._sent:
            # Whoever asks rings, so a question that is put just now is not overlooked.
            return None
        now = time.monotonic()
        with self._lock:
            given_up = self._abandon_parked(now) + self._withdraw_sent(now)
            waiting = [until for _, until in [*self._parked.values(), *self._sent.values()]]
        for reply in given_up:
            if not reply.done():
                reply.set_exception(ElicitationUnavailableError("the user did not answer in time", retryable=True))
        return min(waiting) - now if waiting else None

    def _abandon_parked(self, now: float) -> list[Reply]:
        """Take out calls that no request has carried on. Their handlers may end in peace, but nobody hears of it."""
        given_up = []
        for state in [state for state, (_, until) in self._parked.items() if until <= now]:
            call, _ = self._parked.pop(state)
            call.is_cancelled = True
            given_up += [reply for _, reply in call.questions.values()]
            call.questions.clear()
        return given_up

    def _withdraw_sent(self, now: float) -> list[Reply]:
        """Take out requests that the client has not replied to, and tell it so. The calls themselves go on."""
        given_up = []
        for key in [key for key, (_, until) in self._sent.items() if until <= now]:
            call, _ = self._sent.pop(key)
            given_up.append(call.questions.pop(key)[1])
            withdrawn = {"requestId": key, "reason": "the question was open too long"}
            self._server.output.send(messages.notification("notifications/cancelled", withdrawn))
        return given_up

    def _park(self, call: Call) -> None:
        """End the call's request with its questions. A parked call asks more when it is resumed."""
        if call.request_id is None:
            return
        state = f"{os.environ.get('TOOLGATE_PROCESS', os.getpid())}.{os.urandom(16).hex()}"
        self._parked[state] = (call, time.monotonic() + PATIENCE)
        requests = {key: {"method": "elicitation/create", "params": params} for key, (params, _) in call.questions.items()}
        request_id = call.park()
        self._server.calls.pop(request_id, None)
        self._server.output.send(messages.input_required(request_id, requests, state))


def _can_answer(capabilities: Any, mode: Literal["form", "url"]) -> bool:
    """Tell whether a client can ask this way. An empty capability means forms, as it did before there were links."""
    how = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    if not isinstance(how, dict):
        return False
    return mode in how or (mode == "form" and "url" not in how)
