#!/usr/bin/env python3
"""How many calls of a trivial Python handler come through the gateway, of those that its worker alone answers.

    benches/handlers.py --load mcp-load --gateway target/release/toolgate --python python/.venv/bin/python

`mcp-load` is any load generator with its options: `stdio --concurrency C --duration S --warmup S --tool NAME -- COMMAND`, which
prints one line of JSON with `calls_per_s`, `cpu_us_per_call` and `errors`. Everything is spoken to over pipes. The variants take
turns in each round, and ratios are taken within a round: processors of shared machines change their speed from second to second.
Behind a median stands where the middle half of the rounds lies. The last figure is what each can answer at all: the most of a round,
with whatever number of calls in flight.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

VARIANTS = ("worker", "off", "on")
HANDLER = "from toolgate import handler\n\n\n@handler\ndef echo(text: str) -> str:\n    return text\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", required=True)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--python", required=True, help="an interpreter that has the package")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--in-flight", default="16,64,128,256")
    options = parser.parse_args()
    cells = [int(cell) for cell in options.in_flight.split(",")]
    rounds: list[dict[tuple[str, int], float]] = []
    for turn in range(options.rounds):
        order = sorted(VARIANTS, reverse=turn % 2 == 1)
        rounds.append({(variant, cell): calls_per_second(options, variant, cell) for cell in cells for variant in order})
    for cell in cells:
        report(f"{cell} in flight", {variant: [found[variant, cell] for found in rounds] for variant in VARIANTS})
    best = {variant: [max(found[variant, cell] for cell in cells) for found in rounds] for variant in VARIANTS}
    report("as many as can be", best)


def report(what: str, found: dict[str, list[float]]) -> None:
    """Print the medians of one cell, and of the ratios within its rounds."""
    print(f"{what}: the worker alone {statistics.median(found['worker']):.0f} calls/s")
    for variant in ("off", "on"):
        ratios = [mine / alone for mine, alone in zip(found[variant], found["worker"], strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        middle = f"{statistics.median(ratios):.2f} ({low:.2f}-{high:.2f})"
        print(f"  ledger {variant}: {statistics.median(found[variant]):.0f}, {middle}")


def calls_per_second(options: argparse.Namespace, variant: str, in_flight: int) -> float:
    """Start it, load it for a moment, and end it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "handlers.py").write_text(HANDLER)
        if variant == "worker":
            tool, command = "echo", [options.python, "-m", "toolgate.worker", str(folder / "handlers.py")]
        else:
            config = folder / "toolgate.yaml"
            handlers = {"h": {"modules": [str(folder / "handlers.py")], "python": str(Path(options.python).absolute())}}
            ledger = {"enabled": variant == "on"}
            config.write_text(json.dumps({"state_dir": str(folder / "state"), "ledger": ledger, "handlers": handlers}))
            start = ["start", "--transport", "stdio", "--log-level", "error", "--config", str(config)]
            tool, command = "h__echo", [options.gateway, *start]
        times = ["--duration", str(options.seconds), "--warmup", "0.4"]
        load = [options.load, "stdio", "--concurrency", str(in_flight), *times, "--tool", tool, "--", *command]
        done = subprocess.run(load, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        if found["errors"]:
            raise SystemExit(f"{variant}: {found}")
        return float(found["calls_per_s"])


if __name__ == "__main__":
    main()
