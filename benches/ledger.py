#!/usr/bin/env python3
"""What rules and ledger cost: calls/s and processor time of a gateway with them, against one without.

    benches/ledger.py --load mcp-load --fixture mcp-fixture --gateway target/release/toolgate

With `--rules 10000` what so many rules cost, each for a caller of its own, against two, with the ledger in both.

`mcp-load` is any load generator with its options (`http URL --era E --concurrency C --duration S --tool NAME`), `mcp-fixture` any
MCP server with a tool `echo` (`--http HOST:PORT --sessions`, or `--stdio`). Both gateways run all the time and take turns. Their
processor time is read from the kernel, in nanoseconds, from before the load until nothing moves any more: what the ledger does
behind the calls counts for them. Behind a median stands where the middle half of the rounds lies.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

CELLS = [
    ("http", 16, "legacy"),
    ("http", 128, "legacy"),
    ("http", 16, "modern"),
    ("stdio", 16, "legacy"),
    ("stdio", 128, "legacy"),
]
RULES = [{"id": "all", "effect": "allow", "servers": ["*"]}, {"id": "some", "effect": "deny", "tools": ["transfer_*"]}]
QUIET = 0.7
"""How many seconds nothing must move."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", required=True)
    parser.add_argument("--fixture", required=True)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--rules", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    port = free_port()
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen([options.fixture, "--http", f"127.0.0.1:{port}", "--sessions"], **silent)]
    with tempfile.TemporaryDirectory() as name:
        gateways = {}
        try:
            for kind in ("http", "stdio"):
                server = {"url": f"http://127.0.0.1:{port}/mcp"}
                if kind == "stdio":
                    server = {"command": str(Path(options.fixture).absolute()), "args": ["--stdio"]}
                for variant in ("off", "on"):
                    gateways[kind, variant] = start(options, Path(name) / f"{kind}-{variant}", server, variant)
                    running.append(gateways[kind, variant][0])
            time.sleep(1.5)
            compare(options, gateways)
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait()


def compare(options: argparse.Namespace, gateways: dict) -> None:
    """Run all rounds, and print what came of them."""
    found: dict = {}
    for turn in range(options.rounds + 1):
        for cell in CELLS:
            for variant in sorted(("off", "on"), reverse=turn % 2 == 1):
                process, url = gateways[cell[0], variant]
                # It has rested since its last turn.
                before = spent_by(process.pid)
                result = load(options, url, cell)
                spent = (settled(process.pid) - before) / 1000 / result["calls"]
                # The first round only warms up.
                if turn:
                    found.setdefault((cell, variant), []).append((result["calls_per_s"], spent))
    for cell in CELLS:
        off, on = found[cell, "off"], found[cell, "on"]
        calls = [mine[0] / other[0] for mine, other in zip(on, off, strict=True)]
        cost = [mine[1] / other[1] for mine, other in zip(on, off, strict=True)]
        mean = sum(spent for _, spent in on) / sum(spent for _, spent in off)
        print(
            f"{cell}: off {statistics.median(o[1] for o in off):.1f} us; on / off calls {middle(calls)}, cpu {middle(cost)}, "
            f"of means {mean:.3f}"
        )


def middle(ratios: list[float]) -> str:
    """Write the median, and between which ratios the middle half of the rounds lies."""
    low, median, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return f"{median:.3f} ({low:.2f}-{high:.2f})"


def start(options: argparse.Namespace, folder: Path, server: dict, variant: str) -> tuple[subprocess.Popen, str]:
    """Start a gateway before one server."""
    folder.mkdir()
    port = free_port()
    config = {
        "listen": {"transport": "http", "host": "127.0.0.1", "port": port},
        "state_dir": str(folder / "state"),
        "servers": {"f": server},
        **ruled(options.rules if variant == "on" else 0, is_on=variant == "on" or options.rules > 0),
    }
    path = folder / "toolgate.yaml"
    path.write_text(json.dumps(config))
    command = [options.gateway, "start", "--log-level", "error", "--config", str(path)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL), f"http://127.0.0.1:{port}/mcp"


def ruled(more: int, *, is_on: bool) -> dict:
    """Write the part of a configuration that is compared."""
    if not is_on:
        return {"ledger": {"enabled": False}}
    own = [{"id": f"r{n}", "effect": "allow", "callers": [f"caller-{n}"], "tools": [f"tool_{n}_*"]} for n in range(more)]
    known = {f"caller-{n}": {"groups": [f"group-{n % 100}"]} for n in range(more)}
    return {"policy": {"default": "deny", "rules": RULES + own}, "callers": {"known": known}}


def load(options: argparse.Namespace, url: str, cell: tuple[str, int, str]) -> dict:
    """Load a gateway for a moment."""
    _, clients, era = cell
    how = [
        "--era",
        era,
        "--concurrency",
        str(clients),
        "--duration",
        str(options.seconds),
        "--warmup",
        "0",
        "--tool",
        "f__echo",
    ]
    done = subprocess.run([options.load, "http", url, *how], check=True, capture_output=True, text=True)
    result = json.loads(done.stdout.splitlines()[-1])
    if result["errors"]:
        raise SystemExit(str(result))
    return result


def settled(pid: int) -> int:
    """Wait until a gateway rests; return the nanoseconds that it has run."""
    last, quiet_since = spent_by(pid), time.monotonic()
    while time.monotonic() - quiet_since < QUIET:
        time.sleep(0.1)
        now = spent_by(pid)
        if now - last > 300_000:
            quiet_since = time.monotonic()
        last = now
    return last


def spent_by(pid: int) -> int:
    """Read the time of all threads of a process, without that of its children."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    main()
