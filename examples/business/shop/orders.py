"""Handlers about orders."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from shop.database import connection
from shop.model import Address, Order, OrderLine, Quote, Status
from toolgate import Context, ToolError, handler


class Confirmation(BaseModel):
    """What the user is asked before an order is cancelled."""

    sure: Annotated[bool, Field(description="Cancel the order for good?")]


@handler(price="0.01", tags=["orders"], destructive=False, skill="orders/place-an-order", session=connection)
def place_order(
    session: sqlite3.Connection,
    customer: Annotated[str, Field(min_length=1, max_length=100)],
    lines: Annotated[list[OrderLine], Field(min_length=1)],
    *,
    note: str | None = None,
) -> Order:
    """Place an order and take its articles from the stock.

    Args:
        customer: The customer's name.
        lines: What is ordered.
        note: Anything the packers should know.

    """
    placed = session.execute(
        "INSERT INTO orders (customer, status, placed_on, note) VALUES (?, ?, ?, ?)",
        (customer, Status.OPEN.value, date.today().isoformat(), note),
    )
    for line in lines:
        article = session.execute("SELECT * FROM articles WHERE sku = ?", (line.sku,)).fetchone()
        if article is None:
            raise ToolError(f"there is no article '{line.sku}'; use list_articles to find its number")
        if article["stock"] < line.quantity:
            raise ToolError(f"only {article['stock']} of '{line.sku}' are left", details={"stock": article["stock"]})
        session.execute("UPDATE articles SET stock = stock - ? WHERE sku = ?", (line.quantity, line.sku))
        session.execute(
            "INSERT INTO order_lines VALUES (?, ?, ?, ?)",
            (placed.lastrowid, line.sku, line.quantity, article["price_cents"]),
        )
    return _order(session, placed.lastrowid or 0)


@handler(read_only=True, tags=["orders"], session=connection)
def get_order(order_id: int, session: sqlite3.Connection) -> Order:
    """Look an order up.

    :param order_id: The number of the order.
    """
    return _order(session, order_id)


@handler(read_only=True, tags=["orders"], session=connection)
def find_orders(
    session: sqlite3.Connection,
    customer: str | None = None,
    status: Status | None = None,
    since: date | None = None,
    sort: Literal["newest", "oldest"] = "newest",
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> list[Order]:
    """Find orders.

    Parameters
    ----------
    customer : str, optional
        Part of the customer's name.
    status : Status, optional
        Only those that are this far.
    since : date, optional
        Only those placed on this day or later.
    sort : str
        Which come first.
    limit : int
        How many at most.

    """
    direction = "DESC" if sort == "newest" else "ASC"
    rows = session.execute(
        "SELECT id FROM orders WHERE customer LIKE ? AND (? IS NULL OR status = ?) AND placed_on >= ? "
        f"ORDER BY placed_on {direction}, id {direction} LIMIT ?",
        (
            f"%{customer or ''}%",
            status and status.value,
            status and status.value,
            since.isoformat() if since else "",
            limit,
        ),
    )
    return [_order(session, row["id"]) for row in rows.fetchall()]


@handler(idempotent=True, tags=["orders"], session=connection)
def set_status(session: sqlite3.Connection, order_id: int, status: Literal[Status.PAID, Status.SHIPPED]) -> Order:
    """Say that an order has been paid or shipped."""
    order = _order(session, order_id)
    if order.status is Status.CANCELLED:
        raise ToolError(f"order {order_id} was cancelled")
    session.execute("UPDATE orders SET status = ? WHERE id = ?", (status.value, order_id))
    return _order(session, order_id)


@handler(destructive=True, skill="orders/returns", tags=["orders"])
async def cancel_order(order_id: int, ctx: Context) -> str:
    """Cancel an order, after asking the user, and put its articles back."""
    with connection() as session:
        order = _order(session, order_id)
    if order.status is Status.SHIPPED:
        raise ToolError(f"order {order_id} is on its way; a return is what you need, see skill orders/returns")
    answer = await ctx.elicit(f"Cancel order {order_id} of {order.customer} for {order.total} EUR?", Confirmation)
    if not answer.accepted or answer.data is None or not answer.data.sure:
        return f"order {order_id} was left as it is"
    with connection() as session:
        for line in order.lines:
            session.execute("UPDATE articles SET stock = stock + ? WHERE sku = ?", (line.quantity, line.sku))
        session.execute("UPDATE orders SET status = ? WHERE id = ?", (Status.CANCELLED.value, order_id))
    return f"order {order_id} is cancelled"


@handler(read_only=True, open_world=True, expected_duration=timedelta(milliseconds=50), tags=["orders", "shipping"])
async def quote_shipping(to: Address, weight_kg: Decimal, express: bool = False) -> list[Quote]:
    """Ask all carriers what shipping costs.

    Args:
        to: Where it goes.
        weight_kg: What the parcel weighs.
        express: Only the fast ones.

    """
    if not 0 < weight_kg <= 30:
        raise ValueError("carriers take parcels of up to 30 kg")
    asked = [_ask("swift", to, weight_kg, days=1), _ask("steady", to, weight_kg, days=4)]
    quotes = await asyncio.gather(*asked)
    return [quote for quote in quotes if not express or quote.arrives_on <= date.today() + timedelta(days=2)]


async def _ask(carrier: str, to: Address, weight_kg: Decimal, *, days: int) -> Quote:
    """Stand for a carrier's service: the farther and the faster, the dearer."""
    await asyncio.sleep(0.01)
    abroad = 1 if to.country == "DE" else 3
    price = (Decimal(4) + weight_kg * abroad * 5 / days).quantize(Decimal("0.01"))
    return Quote(carrier, price, date.today() + timedelta(days=days * abroad))


def _order(session: sqlite3.Connection, order_id: int) -> Order:
    row = session.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
    if row is None:
        raise ToolError(f"there is no order {order_id}")
    lines = session.execute("SELECT * FROM order_lines WHERE order_id = ?", (order_id,)).fetchall()
    return Order(
        id=row["id"],
        customer=row["customer"],
        status=Status(row["status"]),
        placed_on=date.fromisoformat(row["placed_on"]),
        lines=[OrderLine(sku=line["sku"], quantity=line["quantity"]) for line in lines],
        total=Decimal(sum(line["quantity"] * line["price_cents"] for line in lines)).scaleb(-2),
        note=row["note"],
    )
