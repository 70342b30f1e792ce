"""Handlers that sum up."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from shop.database import connection
from shop.model import Status
from toolgate import handler


@handler(price="0.05", read_only=True, tags=["reports"])
def revenue(first: date, last: date, /, *, statuses: set[Status] = {Status.PAID, Status.SHIPPED}) -> Decimal:  # noqa: B006
    """Sum up what was sold between two days, both included."""
    if last < first:
        raise ValueError(f"{last} is before {first}")
    wanted = [status.value for status in statuses]
    with connection() as session:
        row = session.execute(
            "SELECT COALESCE(SUM(quantity * price_cents), 0) AS cents FROM order_lines JOIN orders ON orders.id = order_id "
            f"WHERE placed_on BETWEEN ? AND ? AND status IN ({','.join('?' * len(wanted))})",
            (first.isoformat(), last.isoformat(), *wanted),
        ).fetchone()
    return Decimal(row["cents"]).scaleb(-2)
