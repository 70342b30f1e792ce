"""The shop's database: one SQLite file, a connection per call."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS articles (
    sku TEXT PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, price_cents INTEGER NOT NULL,
    stock INTEGER NOT NULL CHECK (stock >= 0), reorder_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY, customer TEXT NOT NULL, status TEXT NOT NULL, placed_on TEXT NOT NULL, note TEXT
);
CREATE TABLE IF NOT EXISTS order_lines (
    order_id INTEGER NOT NULL REFERENCES orders, sku TEXT NOT NULL REFERENCES articles,
    quantity INTEGER NOT NULL CHECK (quantity > 0), price_cents INTEGER NOT NULL
);
"""

_ARTICLES = [
    ("MUG-01", "Mug, blue", "kitchen", 950, 40, 10),
    ("MUG-02", "Mug, green", "kitchen", 950, 4, 10),
    ("TEE-S", "T-shirt, small", "clothing", 1900, 12, 5),
    ("TEE-L", "T-shirt, large", "clothing", 1900, 0, 5),
    ("PEN-10", "Pens, box of ten", "office", 1250, 75, 20),
]


def database_file() -> Path:
    """Say where the database is: `SHOP_DATABASE`, or `shop.db` in the working folder."""
    return Path(os.environ.get("SHOP_DATABASE", "shop.db"))


@contextmanager
def connection() -> Iterator[sqlite3.Connection]:
    """Open the database for one call. What the call changes is kept only if it succeeds."""
    opened = sqlite3.connect(database_file(), timeout=10)
    opened.row_factory = sqlite3.Row
    opened.execute("PRAGMA foreign_keys = ON")
    try:
        _prepare(opened)
        with opened:
            yield opened
    finally:
        opened.close()


def _prepare(opened: sqlite3.Connection) -> None:
    """Make the tables and what is in them at once, so that no other call finds a shop without articles."""
    if opened.execute("SELECT 1 FROM sqlite_master WHERE name = 'order_lines'").fetchone() is None:
        opened.executescript(_TABLES)
        opened.executemany("INSERT OR IGNORE INTO articles VALUES (?, ?, ?, ?, ?, ?)", _ARTICLES)
        opened.commit()
