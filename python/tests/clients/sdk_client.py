"""A client on the official SDK, 1.x or 2.x, which uses the shop of the examples. Its argument is the generation."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import Any

from mcp import StdioServerParameters

GENERATION, ERA, WORKER_PYTHON, SHOP = sys.argv[1:5]
ARGUMENTS = ["-m", "toolgate.worker", "shop.orders", "shop.inventory", "shop.reports"]
SERVER = StdioServerParameters(command=WORKER_PYTHON, args=ARGUMENTS, cwd=SHOP, env=dict(os.environ))


async def agree(_context: Any, _params: Any) -> Any:
    """Answer every question of the shop with yes."""
    if GENERATION == "1":
        from mcp.types import ElicitResult
    else:
        from mcp_types import ElicitResult
    return ElicitResult(action="accept", content={"sure": True})


@asynccontextmanager
async def connected() -> Any:
    """Connect the way that the generation does."""
    if GENERATION == "1":
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client

        async with stdio_client(SERVER) as (read, write), ClientSession(read, write, elicitation_callback=agree) as session:
            await session.initialize()
            yield session
    else:
        from mcp import Client

        mode = "auto" if ERA == "modern" else "legacy"
        async with Client(SERVER, mode=mode, elicitation_callback=agree) as client:
            assert (client.protocol_version >= "2026") == (ERA == "modern"), client.protocol_version
            yield client


def structured(result: Any) -> Any:
    """Read the structured content, which the generations call differently."""
    failed = getattr(result, "isError", None) or getattr(result, "is_error", None)
    assert not failed, result.content
    return result.structuredContent if GENERATION == "1" else result.structured_content


async def main() -> None:
    steps: list[float] = []

    async def stepped(progress: float, _total: float | None, _message: str | None) -> None:
        steps.append(progress)

    async with connected() as client:
        tools = (await client.list_tools()).tools
        assert len(tools) == 12, [tool.name for tool in tools]
        lines = [{"sku": "MUG-01", "quantity": 2}]
        order = structured(await client.call_tool("place_order", {"customer": "Ada", "lines": lines}))
        assert (order["status"], order["total"]) == ("open", "19.00")
        found = structured(await client.call_tool("find_orders", {"customer": "Ada", "status": "open"}))
        assert order in found["result"]
        counts = [["MUG-02", 5], ["PEN-10", 70]]
        taken = await client.call_tool("take_stock", {"counts": counts}, progress_callback=stepped)
        assert structured(taken).keys() == {"MUG-02", "PEN-10"}
        assert steps == [1, 2], steps
        to = {"street": "Am Markt 1", "city": "Jena", "postcode": "07743"}
        quotes = structured(await client.call_tool("quote_shipping", {"to": to, "weight_kg": "2.5", "express": True}))
        assert [quote["carrier"] for quote in quotes["result"]] == ["swift"]
        chart = await client.call_tool("stock_chart", {"width": 20})
        assert chart.content[0].type == "image"
        cancelled = structured(await client.call_tool("cancel_order", {"order_id": order["id"]}))
        assert cancelled == {"result": f"order {order['id']} is cancelled"}
        missing = await client.call_tool("get_order", {"order_id": 99999})
        assert "there is no order 99999" in missing.content[0].text
    print("all well")


asyncio.run(main())
