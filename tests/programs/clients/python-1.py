"""A client on the Python SDK 1.x, which knows the legacy era only, over all three of its transports."""

import asyncio

from checks import PLAN, play, report
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client


def transport():
    target = PLAN["target"]
    if "sse" in target:
        return sse_client(target["sse"])
    if "url" in target:
        return streamable_http_client(target["url"])
    return stdio_client(StdioServerParameters(**target))


async def main():
    async with transport() as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        report("connect")
        await play(session)
    report("close")


asyncio.run(main())
