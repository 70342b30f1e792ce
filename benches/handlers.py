#!/usr/bin/env python3
"""How many calls of a trivial Python handler come through the gateway, of those that its worker alone answers.

    benches/handlers.py --load mcp-load --gateway target/release/toolgate --python python/.venv/bin/python

`mcp-load` is any load generator with its options: `stdio --concurrency C --duration S --warmup S --tool NAME -- COMMAND`, which
prints one line of JSON with `calls_per_s`, `cpu_us_per_call` and `errors`. Everything is spoken to over pipes. The variants take
turns in each round, and ratios are taken within a round: processors of shared machines change their speed from second to second.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

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
    for in_flight in map(int, options.in_flight.split(",")):
        rounds: dict[str, list[float]] = {"worker": [], "off": [], "on": []}
        for turn in range(options.rounds):
            for variant in sorted(rounds, reverse=turn % 2 == 1):
                rounds[variant].append(calls_per_second(options, variant, in_flight))
        print(f"{in_flight} in flight: the worker alone {statistics.median(rounds['worker']):.0f} calls/s")
        for variant in ("off", "on"):
            ratios = [mine / alone for mine, alone in zip(rounds[variant], rounds["worker"], strict=True)]
            spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
            print(f"  ledger {variant}: {statistics.median(rounds[variant]):.0f}, {statistics.median(ratios):.2f} ({spread})")


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
