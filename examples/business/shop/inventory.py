"""Handlers about the stock: methods of an object, which are served because the object is there."""

from __future__ import annotations

import struct
import time
import zlib
from decimal import Decimal
from uuid import UUID, uuid4

from shop.database import connection
from shop.model import Article, Count, Sku
from toolgate import Context, Image, ToolError, handler


class Inventory:
    """The shelves of the shop."""

    def __init__(self) -> None:
        self._reservations: dict[UUID, tuple[str, int]] = {}

    @handler(read_only=True, tags=["inventory"])
    def list_articles(self, category: str | None = None, below_reorder_level: bool = False) -> list[Article]:
        """List articles and their stock.

        Args:
            category: Only those of this category.
            below_reorder_level: Only those that should be bought.

        """
        with connection() as session:
            rows = session.execute(
                "SELECT * FROM articles WHERE (? IS NULL OR category = ?) AND (NOT ? OR stock < reorder_at) ORDER BY sku",
                (category, category, below_reorder_level),
            ).fetchall()
        return [
            Article(
                sku=row["sku"],
                name=row["name"],
                category=row["category"],
                price=Decimal(row["price_cents"]).scaleb(-2),
                stock=row["stock"],
            )
            for row in rows
        ]

    @handler(tags=["inventory"], skill="inventory/restocking")
    def restock(self, deliveries: dict[Sku, int]) -> dict[str, int]:
        """Add what was delivered, and tell the new stock.

        Args:
            deliveries: How many of each article came.

        """
        with connection() as session:
            for sku, quantity in deliveries.items():
                if quantity <= 0:
                    raise ToolError(f"a delivery of {quantity} of '{sku}' is none")
                known = session.execute("UPDATE articles SET stock = stock + ? WHERE sku = ?", (quantity, sku)).rowcount
                if not known:
                    raise ToolError(f"there is no article '{sku}'")
            rows = session.execute("SELECT sku, stock FROM articles").fetchall()
        return {row["sku"]: row["stock"] for row in rows if row["sku"] in deliveries}

    @handler(tags=["inventory"])
    def reserve(self, sku: Sku, quantity: int = 1) -> UUID:
        """Set articles aside, and return the number of the reservation."""
        with connection() as session:
            taken = session.execute(
                "UPDATE articles SET stock = stock - ? WHERE sku = ? AND stock >= ?", (quantity, sku, quantity)
            ).rowcount
        if not taken:
            raise ToolError(f"there are no {quantity} of '{sku}'", retryable=True)
        number = uuid4()
        self._reservations[number] = (sku, quantity)
        return number

    @handler(tags=["inventory"], supports_async=True, expected_duration=0.1, skill="inventory/stock-take", idempotent=True)
    def take_stock(self, counts: list[Count], ctx: Context) -> dict[str, int]:
        """Correct the stock by what was counted, and tell the differences. Reports progress shelf by shelf."""
        differences = {}
        with connection() as session:
            for number, count in enumerate(counts, start=1):
                ctx.raise_if_cancelled()
                row = session.execute("SELECT stock FROM articles WHERE sku = ?", (count.sku,)).fetchone()
                if row is None:
                    ctx.warning(f"'{count.sku}' is on a shelf, but not in the books")
                    continue
                session.execute("UPDATE articles SET stock = ? WHERE sku = ?", (count.counted, count.sku))
                differences[count.sku] = count.counted - row["stock"]
                ctx.progress(number, len(counts), f"shelf of {count.sku}")
                time.sleep(0.01)
        return differences

    @handler(read_only=True, tags=["inventory", "reports"])
    def stock_chart(self, width: int = 200) -> Image:
        """Draw the stock of all articles as bars."""
        if not 10 <= width <= 2000:
            raise ToolError("the width must be 10 to 2000")
        with connection() as session:
            stock = [row["stock"] for row in session.execute("SELECT stock FROM articles ORDER BY sku").fetchall()]
        most = max([1, *stock])
        rows = []
        for count in stock:
            filled = count * width // most
            bar = b"\x00" + b"\x20\x60\xa0" * filled + b"\xf0\xf0\xf0" * (width - filled)
            rows += [bar] * 16 + [b"\x00" + b"\xff\xff\xff" * width] * 4
        return Image(_png(width, rows))


def _png(width: int, rows: list[bytes]) -> bytes:
    """Write a picture without a library: a header, the rows, an end."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")


inventory = Inventory()
