"""The words of the shop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

Sku = Annotated[str, Field(pattern=r"^[A-Z0-9]+-[A-Z0-9]+$", description="Article number, such as MUG-01.")]


class Status(Enum):
    """How far an order is."""

    OPEN = "open"
    PAID = "paid"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


class OrderLine(BaseModel):
    """One article of an order."""

    sku: Sku
    quantity: Annotated[int, Field(ge=1, le=1000)] = 1


class Order(BaseModel):
    """An order as it is stored."""

    id: int
    customer: str
    status: Status
    placed_on: date
    lines: list[OrderLine]
    total: Decimal
    note: str | None = None


@dataclass
class Address:
    """Where to send something."""

    street: str
    city: str
    postcode: str
    country: str = "DE"


@dataclass
class Quote:
    """What shipping costs."""

    carrier: str
    price: Decimal
    arrives_on: date


class Article(TypedDict):
    """An article and its stock."""

    sku: str
    name: str
    category: str
    price: Decimal
    stock: int


class Count(NamedTuple):
    """What was counted on a shelf."""

    sku: str
    counted: int
