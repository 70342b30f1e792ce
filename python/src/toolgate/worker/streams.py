"""The two pipes of the protocol, taken out of everybody else's reach, and writing to one of them from many threads.

Handlers print, libraries print, child processes print. All of that must end on standard error: one stray line among the
messages would break the connection. So the pipes are moved to other descriptors, which children do not inherit, and
standard output becomes standard error.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from threading import Lock

BUFFERED = 128 * 1024
"""How many bytes wait for company before they are written anyway."""


class Pipes:
    """The descriptors of the protocol."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming = incoming
        self.outgoing = outgoing

    @classmethod
    def taken_over(cls) -> Pipes:
        """Take standard input and output for the protocol, and leave something harmless in their place."""
        sys.stdout.flush()
        pipes = cls(os.dup(0), os.dup(1))
        os.set_blocking(pipes.incoming, True)
        os.set_blocking(pipes.outgoing, True)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        # What `fork` without `exec` copies, the child closes. Python closes the rest.
        os.register_at_fork(after_in_child=pipes.close)
        return pipes

    def close(self) -> None:
        """Close both."""
        for descriptor in (self.incoming, self.outgoing):
            try:
                os.close(descriptor)
            except OSError:
                continue


class Output:
    """Writes messages, each whole, in the order in which they were given."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._writing = Lock()
        self.is_broken = False
        """Whether nobody reads any more. Messages are then thrown away."""

    def post(self, line: bytes) -> None:
        """Leave a message to be written with the next ones. Whoever posts must `flush` soon."""
        self._waiting.append(line)
        self._size += len(line)
        if self._size > BUFFERED:
            self.flush()

    def send(self, line: bytes) -> None:
        """Write a message now, after those that wait."""
        self._waiting.append(line)
        self.flush()

    def flush(self) -> None:
        """Write everything that waits. Blocks while the reader is slow, which slows down all who write."""
        while self._waiting:
            with self._writing:
                self._write(self._taken())

    def settle(self) -> None:
        """Write everything that waits, and wait until other threads have written what they took."""
        with self._writing:
            self._write(self._taken())

    def _taken(self) -> bytes:
        lines = []
        # Others may append meanwhile, so the queue is emptied one by one and not copied.
        while self._waiting:
            lines.append(self._waiting.popleft())
        self._size = 0
        return b"".join(lines)

    def _write(self, data: bytes) -> None:
        if self.is_broken or not data:
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self.is_broken = True
