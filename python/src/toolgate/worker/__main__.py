"""`python -m toolgate.worker module_or_path…`: serve handlers over standard input and output."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from toolgate.worker import log
from toolgate.worker.streams import Pipes

NOTHING_TO_SERVE = 2
"""The exit code where no handler could be loaded, or one of them not and `--strict` was given."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Load, serve, and end the process."""
    options = _options(arguments)
    # Before anything of the user's runs: importing a module may print as well.
    pipes = Pipes.taken_over()
    sys.path.insert(0, str(Path.cwd()))

    from toolgate.loading import load  # after the pipes are safe
    from toolgate.worker.lifetime import end_now

    loaded = load(options.sources)
    for problem in loaded.problems:
        log.line("error", str(problem))
    if loaded.problems and (options.strict or not loaded.modules or not len(loaded.registry)):
        log.line(
            "error",
            "refused to start: " + ("--strict, and" if options.strict else "no handler is left;") + " see above",
        )
        end_now(NOTHING_TO_SERVE)
    if options.check:
        for tool in loaded.registry:
            log.line("info", f"tool '{tool.name}' ({tool.place})")
        end_now(0)

    from toolgate.worker.serving import serve

    # What is loaded by now stays, so the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    serve(loaded, pipes, threads=options.threads, grace=options.grace, development=options.dev)
    end_now(0)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m toolgate.worker", description="Serve handlers as MCP tools on stdio.")
    parser.add_argument("sources", nargs="+", metavar="module_or_path", help="package.module, file.py, or a folder of files")
    parser.add_argument("--strict", action="store_true", help="do not start if anything cannot be loaded")
    parser.add_argument("--check", action="store_true", help="load, list the tools on standard error, and end")
    parser.add_argument("--threads", type=_count, default=32, help="how many plain handlers run at a time (32)")
    parser.add_argument("--grace", type=float, default=4.0, help="how many seconds calls have left at the end (4)")
    parser.add_argument(
        "--dev",
        action="store_true",
        default=os.environ.get("TOOLGATE_DEV", "") not in ("", "0"),
        help="send tracebacks to clients; TOOLGATE_DEV=1 does the same",
    )
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= 1000:
        raise argparse.ArgumentTypeError("must be 1 to 1000")
    return count


if __name__ == "__main__":
    main()
