"""The event loop of async handlers, in a thread of its own.

It begins with the first async call: importing asyncio takes longer than everything else in a worker's start, and many
workers have plain handlers only. Calls are handed over in batches, since waking a sleeping thread costs more than
starting a task.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from toolgate.worker.streams import Output

if TYPE_CHECKING:
    import asyncio

    from toolgate.worker.call import Call

_EAGER: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}


class Loop:
    """Runs async handlers, all at once."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrived: deque[Call] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._will_flush = False

    def submit(self, call: Call) -> None:
        """Hand a call over. It begins with the next `kick`."""
        call.send = self._send
        self._arrived.append(call)

    def kick(self) -> None:
        """Begin the calls that were handed over."""
        if self._arrived:
            loop = self._loop or self._started()
            loop.call_soon_threadsafe(self._begin)

    def cancel(self, task: asyncio.Task[None]) -> None:
        """Cancel a task, from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(task.cancel)

    def _started(self) -> asyncio.AbstractEventLoop:
        import asyncio  # see above

        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="toolgate-async", daemon=True).start()
        return self._loop

    def _run(self) -> None:
        import asyncio  # see above

        if self._loop is not None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_forever()

    def _begin(self) -> None:
        import asyncio  # see above

        while self._arrived:
            call = self._arrived.popleft()
            call.task = asyncio.Task(call.run_async(), loop=self._loop, **_EAGER)
            # The loop itself keeps only weak references.
            if not call.task.done():
                self._running.add(call.task)
                call.task.add_done_callback(self._running.discard)
            if call.is_cancelled:
                call.task.cancel()

    def _send(self, line: bytes) -> None:
        """Leave an answer for the end of this round of the loop, when others may be ready too."""
        self._output.post(line)
        if not self._will_flush and self._loop is not None:
            self._will_flush = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._will_flush = False
        self._output.flush()
