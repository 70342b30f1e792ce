"""What every Python client does with the gateway, whichever SDK it is made of, and how it reports."""

import json
import sys

PLAN = json.loads(sys.argv[1])


async def play(client):
    """Plays the plan with `client` (an object with the methods of either SDK's session) and prints each check."""
    await _check("list tools", _expect_names(client.list_tools(), "tools", "name"))
    for tool in PLAN["tools"]:
        calling = client.call_tool(tool["name"], tool["arguments"])
        await _check(f"call {tool['name']}", _expect_text(calling, tool["expect"]))
    await _check("list resources", _expect_names(client.list_resources(), "resources", "uri"))
    for resource in PLAN["resources"]:
        reading = client.read_resource(resource["uri"])
        await _check(f"read {resource['uri']}", _expect_text(reading, resource["expect"]))
    await _check("list prompts", _expect_names(client.list_prompts(), "prompts", "name"))
    for prompt in PLAN["prompts"]:
        getting = client.get_prompt(prompt["name"], prompt["arguments"])
        await _check(f"get {prompt['name']}", _expect_text(getting, prompt["expect"]))


def report(name, problem=None):
    """Prints the line of one check."""
    print(json.dumps({"name": name, "ok": problem is None, "detail": problem}), flush=True)


async def _check(name, running):
    try:
        await running
        report(name)
    except Exception as error:
        report(name, f"{type(error).__name__}: {error}")


async def _expect_names(listing, kind, key):
    listed = {str(getattr(entry, key)) for entry in getattr(await listing, kind)}
    missing = [entry[key] for entry in PLAN[kind] if entry[key] not in listed]
    assert not missing, f"not listed: {missing}; listed: {sorted(listed)}"


async def _expect_text(asking, expected):
    text = (await asking).model_dump_json(by_alias=True)
    assert '"isError":true' not in text and expected in text, f"expected {expected} in {text[:500]}"
