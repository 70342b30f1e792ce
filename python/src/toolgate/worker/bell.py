"""Wakes a sleeping thread, from other threads and from signal handlers.

A signal handler runs between any two steps of the main thread, which may hold a lock just then; so it must not touch
the locks that events and conditions are made of. Writing to a pipe is always allowed.
"""

from __future__ import annotations

import os
import select


class Bell:
    """Can be rung by many, and is waited for by one."""

    def __init__(self) -> None:
        self._heard, self._rung = os.pipe()
        os.set_blocking(self._rung, False)

    def ring(self) -> None:
        """Wake the one who waits, or the next who will."""
        try:
            os.write(self._rung, b"!")
        except BlockingIOError:
            # It has been rung so often that it will be heard.
            return

    def wait(self, seconds: float | None) -> None:
        """Sleep until the bell rings, or as long as this."""
        ready, _, _ = select.select([self._heard], [], [], seconds)
        if ready:
            os.read(self._heard, 4096)
