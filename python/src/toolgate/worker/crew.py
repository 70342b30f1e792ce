"""The threads that read requests and run plain handlers.

A plain handler may take a microsecond or a minute, and nobody knows before. Handing every call to another thread would
cost more than most handlers do; running it where it was read would let a slow one block all others. So one thread of the
crew *leads*: it reads, and runs what it has read itself. If a call takes longer than a tick, the supervisor lets another
thread lead, which goes on with the very next request; the first one finishes its call and stands by. A handler that was
slow lately gives the lead away before it begins.

The number of threads is bounded. When all others are busy, the leader does not run calls any more but lets them queue:
it can always read a cancellation.
"""

from __future__ import annotations

import os
import time
from collections import deque
from threading import Condition, Lock, Thread
from typing import Any, Final

from toolgate.schema import Placed
from toolgate.tool import Tool
from toolgate.worker import log, messages
from toolgate.worker.bell import Bell
from toolgate.worker.call import Call
from toolgate.worker.server import Server

CHUNK: Final = 64 * 1024
"""As much as a pipe holds. Room for more would be mapped and unmapped for every read, which costs more than the read."""
LONGEST_LINE: Final = 64 * 1024 * 1024
TICK: Final = 0.004
"""How long a call may keep the leader, in seconds; up to twice that if it begins just after a tick."""
QUIET_TICKS: Final = 64
"""After how many ticks in which nothing was read the supervisor goes to sleep. Waking it costs as much as several calls."""
COMPANY: Final = 0.00002
"""How long an answer may wait for others to be written with it, in seconds."""

Short = tuple[Tool, list[Any]]
"""A call in short and its handler."""


class Crew:
    """A leader, those who run slow calls, and those who stand by."""

    def __init__(self, descriptor: int, server: Server, size: int) -> None:
        self._descriptor = descriptor
        self._server = server
        self._post = server.output.post
        self._size = size
        self._lock = Lock()
        self._standing_by = Condition(self._lock)
        self._idle = 0
        self._busy = 0
        self._lead_is_free = False
        self._leader = 0
        """The number of the present lead. A thread whose number is another one has been relieved."""
        self._inline: list[Call | Short] = []
        """What the leader runs. Who takes it out has decided: the leader, that the call is done, or the supervisor, that it
        takes too long or that the worker ends. Each leader has a list of its own; to put in and to take out are one step
        each, in which no other thread comes between, and cost a tenth of a lock."""
        self._known: dict[int, Call] = {}
        """What became of calls in short that were taken out, for those who run them: by the identity of what was read, since
        clients may use the id of a request twice."""
        self._chunks = 0
        """How many chunks were read."""
        self._queue: deque[Call] = deque()
        self._lines: deque[bytes | list[Any]] = deque()
        self._partial = bytearray()
        self._bell = Bell()
        self._is_watched = False
        """Whether the supervisor looks after every tick, and need not be woken."""
        self._looked_at = 0
        """How many chunks had been read at the last tick."""
        self._quiet_ticks = 0
        self.ended = False
        """Whether the other side has closed the pipe."""

    def start(self) -> None:
        """Begin to read."""
        with self._lock:
            self._pass_lead_on()

    def supervise(self, wait: float | None) -> None:
        """Relieve a leader whose call takes long. Returns after a tick, or after `wait` seconds without any calls."""
        if not self._is_watched:
            self._bell.wait(wait)
            return
        seen = self._inline[:]
        time.sleep(TICK)
        # By identity: arguments may be long.
        if seen and any(call is seen[0] for call in self._inline[:]):
            self.let_go()
        self._quiet_ticks = 0 if self._chunks != self._looked_at else self._quiet_ticks + 1
        self._looked_at = self._chunks
        if self._quiet_ticks >= QUIET_TICKS:
            # With the next call the leader rings. One that began just before this was said has not rung.
            self._is_watched = False
            if self._inline:
                self._is_watched = True

    def wake(self) -> None:
        """Make `supervise` return soon. Signal handlers may call it."""
        self._bell.ring()

    def let_go(self) -> None:
        """Let another thread lead if the leader runs a call, which is from now on one of those under way."""
        with self._lock:
            try:
                call = self._inline.pop()
            except IndexError:
                return
            if type(call) is tuple:
                tool, entry = call
                self._known[id(entry)] = self._server.made_known(tool, entry)
            self._relieve()

    def _relieve(self) -> None:
        self._busy += 1
        self._pass_lead_on()

    def _pass_lead_on(self) -> None:
        self._leader += 1
        self._lead_is_free = True
        if self._idle:
            self._standing_by.notify()
            return
        try:
            Thread(target=self._work, name=f"toolgate-{self._leader}", daemon=True).start()
        except RuntimeError as error:
            # The first thread to finish its call will lead.
            log.line("error", f"cannot start a thread: {error}")

    def _work(self) -> None:
        """Live the life of a thread: stand by, lead, run slow calls, stand by."""
        while True:
            with self._lock:
                while not self._lead_is_free:
                    self._idle += 1
                    self._standing_by.wait()
                    self._idle -= 1
                self._lead_is_free = False
                lead = self._leader
            try:
                relieved_by_call = self._take_the_lead()
            except BaseException as error:
                self._stumble(lead, error)
                relieved_by_call = True
            if not relieved_by_call:
                return
            self._run_queue()

    def _stumble(self, lead: int, error: BaseException) -> None:
        """Give the lead away over an error that nothing should cause, so that only what caused it is lost."""
        log.line("error", f"a thread stumbled: {log.traceback_of(error)}")
        with self._lock:
            if self._leader == lead:
                self._inline = []
                self._relieve()

    def _run_queue(self) -> None:
        """Run what had to wait for a free thread; then this one is free."""
        while True:
            with self._lock:
                if not self._queue:
                    self._busy -= 1
                    return
                call = self._queue.popleft()
            try:
                call.run()
            except BaseException as error:
                log.line("error", f"a thread stumbled: {log.traceback_of(error)}")

    def _take_the_lead(self) -> bool:
        """Read and run until relieved, which gives true, or until the pipe is closed."""
        server, lines = self._server, self._lines
        inline: list[Call | Short] = []
        self._inline = inline
        while True:
            if not lines:
                server.loop.kick()
                server.output.flush()
                if not self._read():
                    self.ended = True
                    self._bell.ring()
                    return False
            deadline = time.monotonic() + COMPANY
            while lines:
                if not self._deal_with(lines.popleft(), inline):
                    return True
                if time.monotonic() > deadline:
                    server.loop.kick()
                    server.output.flush()
                    deadline = time.monotonic() + COMPANY

    def _deal_with(self, line: bytes | list[Any], inline: list[Call | Short]) -> bool:
        """Receive a line; run its call, or let it queue. False where the lead was lost over it."""
        is_full = self._busy >= self._size or self._queue
        if type(line) is list and not is_full:
            tool = self._server.plain_handler(line)
            placed = tool.arguments.taken_as_they_are(line[2]) if tool is not None else None
            if tool is not None and placed is not None:
                return self._run_at_once(line, tool, placed, inline)
        call = self._server.receive(line)
        if call is None:
            return True
        return self._let_queue(call) if is_full else self._run(call, inline)

    def _run_at_once(self, entry: list[Any], tool: Tool, placed: Placed, inline: list[Call | Short]) -> bool:
        """Run a call in short, which ends, nearly always, before anybody has to know of it."""
        inline.append((tool, entry))
        if not self._is_watched:
            self._have_it_watched()
        if self._server.is_closed and self._taken_out(inline):
            # Nobody who waits for the calls under way would know of it.
            self._server.receive(entry)
            return True
        positional, keywords = placed
        try:
            written = tool.write_result(tool.function(*positional, **keywords))
        except BaseException as error:
            if not inline:
                self._known_as(entry).fail(error)
                return self._lost_lead_over(tool)
            self._server.made_known(tool, entry).fail(error)
            return self._answered(tool, entry, inline)
        if not inline:
            self._known_as(entry).complete(written)
            return self._lost_lead_over(tool)
        members, meta = written
        self._post(messages.result(entry[0], members, meta, False) if meta else messages.answer(entry[0], members))
        # Not before: the end of the worker waits for what is in there. Not in `_answered`: that would cost each of them.
        try:
            inline.pop()
        except IndexError:
            return self._answered(tool, entry, inline)
        return True

    def _answered(self, tool: Tool, entry: list[Any], inline: list[Call | Short]) -> bool:
        """Forget a call that was answered. False where the lead was lost in that very moment."""
        if self._taken_out(inline):
            return True
        self._server.finished(self._known_as(entry))
        return self._lost_lead_over(tool)

    @staticmethod
    def _taken_out(inline: list[Call | Short]) -> bool:
        try:
            inline.pop()
        except IndexError:
            return False
        return True

    def _known_as(self, entry: list[Any]) -> Call:
        with self._lock:
            return self._known.pop(id(entry))

    def _have_it_watched(self) -> None:
        self._is_watched = True
        self._bell.ring()

    def _lost_lead_over(self, tool: Tool) -> bool:
        tool.pace.was_slow()
        self._server.output.flush()
        return False

    def _run(self, call: Call, inline: list[Call | Short]) -> bool:
        """Run a call. False where the lead was lost over it."""
        pace = call.tool.pace
        if pace.is_in_doubt and pace.is_slow():
            return self._run_aside(call)
        inline.append(call)
        if not self._is_watched:
            self._have_it_watched()
        # The answer is written with the next ones, unless somebody else leads by then.
        call.send = self._post
        call.run()
        try:
            inline.pop()
        except IndexError:
            return self._lost_lead_over(call.tool)
        if pace.is_in_doubt:
            pace.was_fast()
        return True

    def _run_aside(self, call: Call) -> bool:
        """Give the lead away, then run a call that will probably take long."""
        self._server.loop.kick()
        self._server.output.flush()
        with self._lock:
            self._relieve()
        call.run()
        return False

    def _let_queue(self, call: Call) -> bool:
        with self._lock:
            if self._busy >= self._size:
                self._queue.append(call)
                return True
        return self._run_aside(call)

    def _read(self) -> bool:
        """Read more lines; false at the end. The unfinished rest of a line is kept for the next time."""
        while not self._lines:
            try:
                chunk = os.read(self._descriptor, CHUNK)
            except OSError as error:
                log.line("error", f"cannot read requests: {error}")
                return False
            if not chunk:
                return False
            self._chunks += 1
            self._split(chunk)
        return True

    def _split(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        if whole and self._partial:
            whole[0] = bytes(self._partial) + whole[0]
            self._partial.clear()
        self._lines.extend(self._server.read([line for line in whole if line.strip()]))
        if not rest:
            return
        self._partial += rest
        if len(self._partial) > LONGEST_LINE:
            self._partial.clear()
            what = f"a line is longer than {LONGEST_LINE} bytes"
            self._server.output.send(messages.error(None, messages.INVALID_REQUEST, what))
