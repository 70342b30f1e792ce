"""Puts the parts of a worker together, and keeps watch over them until the end."""

from __future__ import annotations

import sys
import threading
import time

from toolgate.loading import Loaded
from toolgate.worker import lifetime, log
from toolgate.worker.crew import Crew
from toolgate.worker.server import Server
from toolgate.worker.streams import Output, Pipes

SWITCH_INTERVAL = 0.001
"""How long a thread may compute before another one gets its turn, in seconds."""


def serve(loaded: Loaded, pipes: Pipes, *, threads: int, grace: float, development: bool) -> None:
    """Serve until the pipe is closed or the process is told to end; then give the calls under way `grace` seconds."""
    output = Output(pipes.outgoing)
    server = Server(loaded.registry, loaded.problems, output, development=development)
    crew = Crew(pipes.incoming, server, threads)
    server.wake = crew.wake
    told_to_end = False

    def stop() -> None:
        nonlocal told_to_end
        told_to_end = True
        crew.wake()

    lifetime.on_request(stop)
    lifetime.die_with_parent(stop)
    # A handler that computes lets the others have their turn sooner than Python's usual 5 ms.
    sys.setswitchinterval(SWITCH_INTERVAL)
    log.line("info", f"serving {len(loaded.registry)} tools")
    crew.start()
    while not (crew.ended or told_to_end or output.is_broken):
        crew.supervise(server.questions.expire())
    server.close()
    crew.let_go()
    server.drain()
    # Should even the last words find no reader, the process ends all the same.
    last_resort = threading.Timer(grace + 0.5, lifetime.end_now, [1])
    last_resort.daemon = True
    last_resort.start()
    # Handlers that are still at work may need a thread to lead, if only to have a cancellation read.
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and not server.drained.wait(0.01):
        crew.supervise(0.0)
    server.abandon_all()
