"""Scenes with a real worker: how it starts, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from worker_process import HERE, SCENE, Worker, run_to_end

GOOD = "from toolgate import handler\n@handler\ndef fine() -> int:\n    return 1\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module\n", "broken.py:1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = 1\ndef f(:\n", "broken.py:2: SyntaxError"),
        ("raise SystemExit(5)\n", "broken.py:1: SystemExit: 5"),
        (GOOD.replace("()", "(x)"), "parameter 'x' has no type"),
    ],
)
def test_a_broken_file_alone_is_refused(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "broken.py").write_text(source)
    code, log = run_to_end([str(tmp_path / "broken.py")])
    assert code == 2
    assert said in log
    assert "Traceback" not in log


def test_a_broken_file_does_not_harm_others(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    (tmp_path / "good.py").write_text(GOOD)
    with Worker(str(tmp_path)) as worker:
        assert worker.value("fine") == 1
        problems = worker.answer(worker.send("server/discover", {}))["result"]["_meta"]["io.toolgate/problems"]
        assert [Path(problem["source"]).name for problem in problems] == ["broken.py"]
    code, log = run_to_end([str(tmp_path), "--strict"])
    assert code == 2
    assert "no_such_module" in log


def test_a_package_is_served_as_a_whole(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    (package / "stock").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import shop.prices\nfrom . import stock\nfrom .stock import count\n" + GOOD.replace("fine", "of_the_package")
    )
    (package / "prices.py").write_text("PRICE = 7\n")
    (package / "stock/__init__.py").write_text(
        "from toolgate import handler\nfrom ..prices import PRICE\n@handler\ndef count() -> int:\n    return PRICE\n"
    )
    # In a folder of files this one would be a source of its own, and refused.
    (package / "alone.py").write_text("from .nowhere import nothing\n")
    with Worker(str(package), "--strict") as worker:
        assert worker.value("of_the_package") == 1
        assert worker.value("count") == 7
        assert len(worker.answer(worker.send("tools/list", {}))["result"]["tools"]) == 2
    (package / "__init__.py").write_text("from .nowhere import nothing\n")
    code, log = run_to_end([str(package)])
    assert code == 2
    assert "__init__.py:1: ModuleNotFoundError: No module named 'shop.nowhere'" in log


NOISY = """
import os, subprocess, sys
print("printed")
sys.stdout.write("written\\n")
sys.stdout.flush()
os.write(1, b"raw\\n")
subprocess.run(["sh", "-c", "echo child; read line; echo got:$line"], check=True)
"""


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_module_may_print_while_it_is_imported(tmp_path: Path, era: str) -> None:
    (tmp_path / "noisy.py").write_text(NOISY + GOOD)
    with Worker(str(tmp_path / "noisy.py"), era=era) as worker:
        # The request waits in the pipe while the module is imported, where a child must not find it.
        assert worker.value("fine") == 1
        assert worker.kept == []
        assert set(worker.log().split()) >= {"printed", "written", "raw", "child", "got:"}


LAZY = """
class Lazy:
    def __getattr__(self, name):
        raise RuntimeError("outside of a request")
    __class__ = property(lambda self: self.nothing)

request = Lazy()
"""


@pytest.mark.parametrize("source", [LAZY + GOOD, GOOD + "class Shop:\n    @handler\n    def stock(self) -> int: ...\n" + LAZY])
def test_a_proxy_that_stands_for_nothing_harms_no_handler(tmp_path: Path, source: str) -> None:
    (tmp_path / "lazy.py").write_text(source)
    with Worker(str(tmp_path / "lazy.py")) as worker:
        assert worker.value("fine") == 1
        found = worker.answer(worker.send("server/discover", {}))["result"]
        problems = [problem["message"] for problem in found.get("_meta", {}).get("io.toolgate/problems", [])]
        assert all("'Shop'" in problem for problem in problems)
        assert len(problems) == source.count("class Shop")


def test_check_lists_the_tools() -> None:
    code, log = run_to_end([SCENE, "--check"])
    assert code == 0
    assert "tool 'add'" in log


@pytest.mark.parametrize("era", ["modern", "short"])
def test_calls_under_way_are_finished_at_the_end(era: str) -> None:
    with Worker(era=era) as worker:
        waiting = worker.start_call("wait_at_gate", name="end")
        opening = worker.start_call("open_gate", name="end")
        worker.close()
        assert worker.answer(waiting)["result"]["structuredContent"] == {"result": "passed"}
        assert worker.answer(opening)["result"]["content"] == []


@pytest.mark.parametrize("era", ["modern", "short"])
def test_calls_that_do_not_end_are_given_up(era: str) -> None:
    with Worker(SCENE, "--grace", "0.2", era=era) as worker:
        stuck = [worker.start_call("wait_at_gate", name="never"), worker.start_call("wait_forever")]
        assert worker.value("add", a=1) == 11
        worker.process.send_signal(signal.SIGTERM)
        for request_id in stuck:
            error = worker.answer(request_id)["error"]
            assert (error["code"], error["data"]["retryable"]) == (-32005, True)
        assert worker.process.wait(10) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_it_dies_with_its_parent() -> None:
    """The test holds both pipes, so that a closed pipe cannot be what ends the worker."""
    requests, ours = os.pipe()
    alive, held = os.pipe()
    start = (
        "import os, subprocess, sys; "
        f"child = subprocess.Popen([sys.executable, '-m', 'toolgate.worker', {SCENE!r}], pass_fds=[{held}], stdout=2); "
        "import time; time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", start], stdin=requests, stderr=subprocess.PIPE, pass_fds=[held], cwd=HERE)
    os.close(requests)
    os.close(held)
    assert parent.stderr is not None
    line = b""
    while b"serving" not in line:
        line = parent.stderr.readline()
        assert line, "the worker did not start"
    parent.kill()
    parent.wait()
    # Nobody holds the other end any more when the worker is gone.
    assert os.read(alive, 1) == b""
    os.close(ours)
    os.close(alive)
    parent.stderr.close()


def test_a_client_that_does_not_read_cannot_keep_it_alive() -> None:
    with Worker(SCENE, "--grace", "0.2") as worker:
        assert worker.value("add", a=1) == 11
        # The lists are more than a pipe holds, and nobody takes them out.
        for _ in range(30):
            worker.send("tools/list", {})
        worker.process.send_signal(signal.SIGTERM)
        # 1 if it was in the middle of writing, 0 if it had not begun.
        assert worker.process.wait(20) in (0, 1)
        worker.process.returncode = 0
