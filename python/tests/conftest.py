from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from worker_process import Worker


@pytest.fixture(scope="module")
def shared_worker() -> Iterator[Worker]:
    with Worker() as process:
        yield process
