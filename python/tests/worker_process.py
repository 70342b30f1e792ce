"""A worker as a process, spoken to in raw lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
SCENE = str(HERE / "handlers" / "scene.py")
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "scene", "version": "9"},
}

Message = dict[str, Any]


class Worker:
    """Starts with the first message; ends with the `with` block, which fails if it does not end by itself."""

    def __init__(
        self,
        *arguments: str,
        era: str = "modern",
        version: str = "2025-11-25",
        capabilities: Message | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 — closed with the process
        self.era = era
        """How it is spoken to: `short` is modern with calls in short, as a gateway sends them."""
        self._version = version
        self._capabilities: Message = {"elicitation": {}} if capabilities is None else capabilities
        self.greeting: Message = {}
        """What it said of itself to a legacy client."""
        env = {**({"TOOLGATE_GATEWAY": "1"} if era == "short" else {}), **(env or {})}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "toolgate.worker", *(arguments or (SCENE,))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env={**os.environ, **env},
        )  # fmt: skip
        self._id = 0
        self.kept: list[Message] = []
        self.marks: dict[str, str] = {}

    def __enter__(self) -> Worker:
        if self.era == "legacy":
            about = {"protocolVersion": self._version, "capabilities": self._capabilities}
            client = {"clientInfo": {"name": "scene", "version": "9"}}
            self.greeting = self.answer(self.send("initialize", {**about, **client}))["result"]
            self.notify("notifications/initialized", {})
        if self.era == "short":
            tools = self.answer(self.send("tools/list", {}))["result"]["tools"]
            marked = ((tool["name"], tool["_meta"].get("io.toolgate/short-call")) for tool in tools)
            self.marks = {name: mark for name, mark in marked if mark is not None}
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
            self.process.wait(10)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
        if kind is None:
            assert self.process.returncode == 0, self.log()

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()

    def log(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def write(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def send(self, method: str, params: Message, *, meta: Message | None = None) -> int:
        self._id += 1
        own = {**(MODERN if self.era in ("modern", "short") else {}), **(meta or {})}
        params = {**params, "_meta": own} if own else params
        self.write(json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode(), b"\n")
        return self._id

    def notify(self, method: str, params: Message) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode(), b"\n")

    def start_call(self, name: str, /, *, meta: Message | None = None, again: Message | None = None, **arguments: Any) -> int:
        if name in self.marks and meta is None and again is None:
            self._id += 1
            self.write(json.dumps([self._id, name, arguments, self.marks[name]]).encode(), b"\n")
            return self._id
        return self.send("tools/call", {"name": name, "arguments": arguments, **(again or {})}, meta=meta)

    def read(self) -> Message:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the worker ended: {self.log()}"
        message: Message = json.loads(line)
        return message

    def answer(self, request_id: object) -> Message:
        """Wait for the answer to a request; what else arrives is kept."""
        for index, message in enumerate(self.kept):
            if message.get("id") == request_id and "method" not in message:
                return self.kept.pop(index)
        while True:
            message = self.read()
            if message.get("id") == request_id and "method" not in message:
                return message
            self.kept.append(message)

    def call(self, name: str, /, **arguments: Any) -> Message:
        """Make a call and return its result."""
        answer = self.answer(self.start_call(name, **arguments))
        assert "result" in answer, answer
        result: Message = answer["result"]
        return result

    def value(self, name: str, /, **arguments: Any) -> Any:
        """Make a call and return its value."""
        return self.call(name, **arguments)["structuredContent"]["result"]


def run_to_end(arguments: Sequence[str], env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a worker that is expected to end by itself; return its exit code and its log."""
    done = subprocess.run(
        [sys.executable, "-m", "toolgate.worker", *arguments],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, env={**os.environ, **(env or {})},
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr
