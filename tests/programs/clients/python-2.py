"""A client on the Python SDK 2.x, in either era."""

import asyncio

from checks import PLAN, play, report
from mcp import Client, StdioServerParameters


async def main():
    target = PLAN["target"]
    server = target.get("url") or StdioServerParameters(**target)
    modern = PLAN["era"] == "modern"
    async with Client(server, mode="auto" if modern else "legacy") as client:
        spoken = client.protocol_version
        right_era = modern == (spoken >= "2026")
        report("connect", None if right_era else f"asked for the {PLAN['era']} era, but speaks {spoken}")
        await play(client)
    report("close")


asyncio.run(main())
