"""Log lines on standard error, each written at once so that threads do not mix theirs."""

from __future__ import annotations

import sys
import traceback


def line(level: str, message: str) -> None:
    """Write one message; line breaks in it are kept."""
    try:
        sys.stderr.write(f"toolgate.worker {level}: {message}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        # Nobody reads standard error any more; there is nowhere to say so.
        return


def traceback_of(error: BaseException) -> str:
    """Write the traceback of an exception, from the handler on."""
    inner = error.__traceback__
    while inner is not None and "/toolgate/" in inner.tb_frame.f_code.co_filename and inner.tb_next is not None:
        inner = inner.tb_next
    return "".join(traceback.format_exception(type(error), error, inner))
