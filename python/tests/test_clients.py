"""The shop of the examples, used through the official SDKs. Their environments are made by `test.sh`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHOP = HERE.parent.parent / "examples" / "business"


@pytest.mark.parametrize(("generation", "era"), [("1", "legacy"), ("2", "legacy"), ("2", "modern")])
def test_the_shop(generation: str, era: str, tmp_path: Path) -> None:
    python = os.environ.get(f"MCP_{generation}_PYTHON")
    if python is None:
        pytest.skip(f"MCP_{generation}_PYTHON does not name a Python with the SDK {generation}.x")
    client = str(HERE / "clients" / "sdk_client.py")
    done = subprocess.run(
        [python, client, generation, era, sys.executable, str(SHOP)],
        check=False, capture_output=True, text=True, timeout=120, env={**os.environ, "SHOP_DATABASE": str(tmp_path / "shop.db")},
    )  # fmt: skip
    assert done.stdout == "all well\n", done.stderr
