"""The example's database, when calls are its first at the same moment."""

from __future__ import annotations

import importlib
import sqlite3
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/business"


def test_no_call_finds_a_shop_that_is_only_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    shop = importlib.import_module("shop.database")
    file = tmp_path / "shop.db"

    def has_articles() -> bool | None:
        with sqlite3.connect(file) as other:
            if other.execute("SELECT 1 FROM sqlite_master WHERE name = 'order_lines'").fetchone() is None:
                return None
            return len(other.execute("SELECT sku FROM articles").fetchall()) == 5

    seen: list[bool | None] = []
    with sqlite3.connect(file) as first:
        first.set_trace_callback(lambda _statement: seen.append(has_articles()))
        shop._prepare(first)
        first.set_trace_callback(None)

    assert len(seen) > 3, "another call looks before each statement"
    assert False not in seen, f"a call would have found no articles: {seen}"
    assert has_articles()
