#!/usr/bin/env python3
"""How many calls of a Python handler are answered, side by side.

    benches/handlers.py --load mcp-load --gateway target/release/toolgate --python python/.venv/bin/python

says how many calls of a trivial handler come through the gateway, of those that its worker alone answers. With `--fastmcp PYTHON`,
an interpreter that has FastMCP, it says how many come through of those that a FastMCP server with the same function answers;
with `--processes`, how many calls of a handler that computes two processes answer, of those that one does.

`mcp-load` is any load generator with its options: `stdio --concurrency C --duration S --warmup S --tool NAME -- COMMAND`, which
prints one line of JSON with `calls_per_s` and `errors`. Everything is spoken to over pipes. The variants take turns in each round,
and ratios are taken within a round: processors of shared machines change their speed from second to second. Behind a median stands
where the middle half of the rounds lies. The last figure is what each can answer at all: the most of a round, with whatever number
of calls in flight.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

TRIVIAL = "from toolgate import handler\n\n\n@handler\ndef echo(text: str) -> str:\n    return text\n"
COMPUTING = TRIVIAL.replace("    return", "    sum(number * number for number in range(20_000))\n    return")
FASTMCP = """from fastmcp import FastMCP

server = FastMCP("bench")


@server.tool
def echo(text: str) -> str:
    return text


server.run(show_banner=False)
"""

Variant = Callable[[argparse.Namespace, Path], tuple[str, list[str]]]
"""Prepares a folder; gives the name of the tool and the command that serves it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", required=True)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--python", required=True, help="an interpreter that has the package")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--fastmcp", help="an interpreter that has FastMCP")
    instead.add_argument("--processes", action="store_true")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--in-flight", default="16,64,128,256")
    options = parser.parse_args()
    variants: dict[str, Variant] = {"the worker alone": worker, "ledger off": gateway(False), "ledger on": gateway(True)}
    if options.fastmcp:
        variants = {"FastMCP": fastmcp, "ledger on": gateway(True)}
    if options.processes:
        variants = {"one process": gateway(True, COMPUTING), "two": gateway(True, COMPUTING, processes=2)}
    compare(options, variants, [int(cell) for cell in options.in_flight.split(",")])


def worker(options: argparse.Namespace, folder: Path) -> tuple[str, list[str]]:
    source = folder / "handlers.py"
    source.write_text(TRIVIAL)
    return "echo", [options.python, "-m", "toolgate.worker", str(source)]


def gateway(ledger: bool, source: str = TRIVIAL, **pool: int) -> Variant:
    def prepare(options: argparse.Namespace, folder: Path) -> tuple[str, list[str]]:
        (folder / "handlers.py").write_text(source)
        handlers = {"modules": [str(folder / "handlers.py")], "python": str(Path(options.python).absolute()), **pool}
        about = {"state_dir": str(folder / "state"), "ledger": {"enabled": ledger}, "handlers": {"h": handlers}}
        (folder / "toolgate.yaml").write_text(json.dumps(about))
        start = ["start", "--transport", "stdio", "--log-level", "error", "--config", str(folder / "toolgate.yaml")]
        return "h__echo", [options.gateway, *start]

    return prepare


def fastmcp(options: argparse.Namespace, folder: Path) -> tuple[str, list[str]]:
    (folder / "server.py").write_text(FASTMCP)
    return "echo", [options.fastmcp, str(folder / "server.py")]


def compare(options: argparse.Namespace, variants: dict[str, Variant], cells: Sequence[int]) -> None:
    rounds: list[dict[tuple[str, int], float]] = []
    for turn in range(options.rounds):
        order = list(variants) if turn % 2 == 0 else list(variants)[::-1]
        rounds.append({(name, cell): calls_per_second(options, variants[name], cell) for cell in cells for name in order})
    for cell in cells:
        report(f"{cell} in flight", {name: [found[name, cell] for found in rounds] for name in variants})
    best = {name: [max(found[name, cell] for cell in cells) for found in rounds] for name in variants}
    report("as many as can be", best)


def report(what: str, found: dict[str, list[float]]) -> None:
    """Print the medians of one cell, and of the ratios to the first variant within its rounds."""
    first, *others = found
    print(f"{what}: {first} {statistics.median(found[first]):.0f} calls/s")
    for name in others:
        ratios = [one / other for one, other in zip(found[name], found[first], strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        print(f"  {name}: {statistics.median(found[name]):.0f}, {statistics.median(ratios):.2f} ({low:.2f}-{high:.2f})")


def calls_per_second(options: argparse.Namespace, variant: Variant, in_flight: int) -> float:
    """Start it, load it for a moment, and end it."""
    with tempfile.TemporaryDirectory() as name:
        tool, command = variant(options, Path(name))
        times = ["--duration", str(options.seconds), "--warmup", "0.4"]
        load = [options.load, "stdio", "--concurrency", str(in_flight), *times, "--tool", tool, "--", *command]
        done = subprocess.run(load, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        if found["errors"]:
            raise SystemExit(f"{command}: {found}")
        return float(found["calls_per_s"])


if __name__ == "__main__":
    main()
