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
    await _play_business(client)
    await _check("list resources", _expect_names(client.list_resources(), "resources", "uri"))
    for resource in PLAN["resources"]:
        reading = client.read_resource(resource["uri"])
        await _check(f"read {resource['uri']}", _expect_text(reading, resource["expect"]))
    await _check("list prompts", _expect_names(client.list_prompts(), "prompts", "name"))
    for prompt in PLAN["prompts"]:
        getting = client.get_prompt(prompt["name"], prompt["arguments"])
        await _check(f"get {prompt['name']}", _expect_text(getting, prompt["expect"]))


async def _play_business(client):
    business = PLAN["business"]
    for tool in business["tools"]:
        calling = client.call_tool(tool["name"], tool["arguments"])
        await _check(f"call {tool['name']}", _expect_text(calling, tool["expect"]))
    for tool in business["refused"]:
        calling = client.call_tool(tool["name"], tool["arguments"])
        await _check(f"refused {tool['name']}", _expect_failure(calling, tool["expect"]))
    for tool in business["described"]:
        await _check(f"described {tool['name']}", _expect_words(client.list_tools(), tool["name"], tool["expect"]))
    for resource in business["resources"]:
        reading = client.read_resource(resource["uri"])
        await _check(f"read {resource['uri']}", _expect_text(reading, resource["expect"]))


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


async def _expect_failure(asking, expected):
    text = (await asking).model_dump_json(by_alias=True)
    assert '"isError":true' in text and expected in text, f"expected a failure with {expected} in {text[:500]}"


async def _expect_words(listing, name, expected):
    words = [tool.description or "" for tool in (await listing).tools if tool.name == name]
    assert words and expected in words[0], f"expected {expected} in the description of {name}: {words}"
