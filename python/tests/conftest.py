"""What several test files share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from worker_process import Worker

settings.register_profile("leaves nothing behind", database=None)
settings.load_profile("leaves nothing behind")


@pytest.fixture(scope="module")
def shared_worker() -> Iterator[Worker]:
    with Worker() as process:
        yield process
