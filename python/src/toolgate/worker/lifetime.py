"""How a worker's life ends: when its pipe is closed, when it is told to, and when its parent dies."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_GET_PDEATHSIG = 2


def on_request(stop: Callable[[], None]) -> None:
    """Call `stop` when the process is told to end. It runs in the main thread, between two steps of it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())


def die_with_parent(stop: Callable[[], None]) -> None:
    """Call `stop` when the process that started us is gone, even if somebody else still holds our pipe open.

    The kernel means the *thread* that started us, which may end while its process lives. So the signal is one that we can
    look into. A parent that has asked for a deadlier one, before it became us, keeps it.
    """
    if sys.platform != "linux":
        return
    import ctypes  # only here, and not quick to import

    parent = os.getppid()

    def look(*_: object) -> None:
        if os.getppid() != parent:
            stop()

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        present = ctypes.c_int(0)
        libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(present), 0, 0, 0)
        if present.value == 0:
            signal.signal(signal.SIGHUP, look)
            libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGHUP), 0, 0, 0)
            look()
    except (OSError, AttributeError):
        # A system without it: the closed pipe has to do.
        return


def end_now(status: int) -> None:
    """End the process although threads are still at work: handlers that do not come back must not keep it alive."""
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(status)
