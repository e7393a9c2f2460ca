"""The runner as a process: how it starts, what it refuses, and that it leaves nothing behind.

What every runner must do is tried by the conformance suite on Assay's side; here is what only this one has.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runner_process import SOURCES, Runner, gone, library, noop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forking runners are for Linux")


@pytest.mark.parametrize("mode", [[], ["--spawn"]])
def test_missing_libraries_are_told_and_jobs_run(mode):
    with Runner(*mode) as runner:
        hello = runner.next()
        assert {"torch", "transformers"} <= hello["missing"].keys()
        assert hello["versions"]["python"].startswith("3.")
        assert runner.run(noop())[-1]["status"] == 0


def test_a_broken_library_is_told_with_its_reason(tmp_path):
    with Runner(libraries=library(tmp_path, "torch", "raise OSError('libcudart.so.13: cannot open')")) as runner:
        assert runner.next()["missing"]["torch"] == "OSError: libcudart.so.13: cannot open"


def test_a_library_that_prints_does_not_reach_the_protocol(tmp_path):
    text = "import os\nprint('welcome')\nos.write(1, b'to C too\\n')\n__version__ = '9'"
    with Runner(libraries=library(tmp_path, "torch", text)) as runner:
        assert runner.next()["versions"]["torch"] == "9"


def test_a_library_that_starts_threads_means_fresh_interpreters(tmp_path):
    text = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n__version__='9'"
    )
    with Runner(libraries=library(tmp_path, "torch", text)) as runner:
        hello = runner.next()
        assert hello["start"] == "spawn" and "threads" in hello["notes"][0]
        assert runner.run(noop())[-1]["status"] == 0


def test_no_input_ends_it_even_while_it_imports(tmp_path):
    text = f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
    with Runner(libraries=library(tmp_path, "torch", text)) as runner:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.01)
        start = time.monotonic()
        runner.process.stdin.close()
        runner.process.wait(timeout=5)
        assert time.monotonic() - start < 1
        assert gone(int((tmp_path / "pid").read_text()))


def test_what_left_its_group_is_killed_when_no_job_is_alive_and_not_before():
    with Runner("--bare") as runner:
        runner.next()
        runner.send({"op": "run", "id": "long", "job": noop("sleep", options={"seconds": 2})})
        runner.send({"op": "run", "id": "short", "job": noop("grandchild", options={"session": True})})
        while (stray := runner.next())["ev"] != "data":
            pass
        time.sleep(1)  # longer than a search waits: the other job lives, so nobody knows whose the process is
        assert not gone(stray["data"]["pid"], within=0.1)
        while not ((last := runner.next())["ev"] == "exit" and last["id"] == "long"):
            pass
        assert gone(stray["data"]["pid"], within=3)


@pytest.mark.parametrize("mode", [["--bare"], ["--bare", "--spawn"]])
@pytest.mark.parametrize("ending", ["eof", "bye", "term", "keeper killed", "zygote killed"])
def test_whatever_ends_it_nothing_is_left(mode, ending):
    with Runner(*mode) as runner:
        zygote = runner.next()["pid"]
        pids = [zygote]
        for job_id, options in (("1", {"stay": True}), ("2", {"stay": True, "session": True})):
            runner.send({"op": "run", "id": job_id, "job": noop("grandchild", options=options)})
            heard = [runner.next()]
            while heard[-1]["ev"] != "data":
                heard.append(runner.next())
            pids += [heard[0]["pid"], heard[-1]["data"]["pid"]]
        endings = {
            "eof": lambda: runner.process.stdin.close(),
            "bye": lambda: runner.send({"op": "bye"}),
            "term": lambda: os.kill(runner.process.pid, signal.SIGTERM),
            "keeper killed": lambda: os.kill(runner.process.pid, signal.SIGKILL),
            "zygote killed": lambda: os.kill(zygote, signal.SIGKILL),
        }
        endings[ending]()
        expected = {"keeper killed": -signal.SIGKILL, "zygote killed": 128 + signal.SIGKILL}.get(ending, 0)
        assert runner.process.wait(timeout=5) == expected
        assert [pid for pid in pids if not gone(pid)] == []


@pytest.mark.parametrize("line", [b"garbage\n", b'{"op":"dance"}\n', b'{"op":"run","id":"1"}\n', b"x" * (9 << 20)])
def test_what_is_no_message_ends_it_with_a_reason(line):
    with Runner("--bare") as runner:
        runner.next()
        try:
            runner.process.stdin.write(line)
            runner.process.stdin.flush()
        except BrokenPipeError:
            pass
        assert runner.process.wait(timeout=5) == 2
        assert b"is not a message" in runner.process.stderr.read()


@pytest.mark.parametrize("mode", [["--bare"], ["--bare", "--spawn"]])
def test_jobs_may_come_from_a_file(tmp_path, mode):
    jobs = tmp_path / "jobs"
    jobs.write_text("")
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}
    with jobs.open() as stdin:
        command = [sys.executable, "-m", "assay_runner", "zygote", *mode]
        result = subprocess.run(command, env=environment, stdin=stdin, capture_output=True, timeout=10, check=True)
    assert json.loads(result.stdout)["ev"] == "hello"


def test_killing_what_is_not_there_is_no_harm():
    with Runner("--bare") as runner:
        runner.next()
        runner.send({"op": "kill", "id": "77", "reason": "timeout"})
        assert runner.run(noop())[-1]["status"] == 0


def test_a_child_starts_clean():
    """Its own group, no descriptor but its own, and the first to go when memory runs out."""
    with Runner("--bare") as runner:
        zygote = runner.next()["pid"]
        runner.send({"op": "run", "id": "0", "job": noop("hang")})
        runner.send({"op": "run", "id": "1", "job": noop("hang")})
        pids = [runner.next()["pid"] for _ in range(2)]
        time.sleep(0.2)
        for pid in pids:
            assert os.getpgid(pid) == pid and os.getpgid(zygote) != pid
            assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
            targets = {fd.name: str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
            assert len(targets) == 4, targets
            assert targets["0"] == "/dev/null" and targets["1"] == targets["2"]


def test_nothing_is_imported_from_the_working_directory(tmp_path):
    library(tmp_path, "json", "raise SystemExit('the wrong json')")
    with Runner("--bare", cwd=tmp_path) as runner:
        assert runner.next()["protocol"] == 1


def test_a_child_that_cannot_be_made_has_its_exit_too():
    limit = (18, 18)
    with Runner("--bare", files=limit) as runner:
        runner.next()
        for number in range(8):
            runner.send({"op": "run", "id": str(number), "job": noop("hang")})
        answers = [runner.next() for _ in range(8)]
        refused = [answer for answer in answers if answer["ev"] == "exit"]
        assert refused and len(refused) < 8
        assert all("Too many open files" in exit["start_error"] and exit["status"] == -1 for exit in refused)
        for number in range(8):
            runner.send({"op": "kill", "id": str(number), "reason": "over"})
        for _ in range(8 - len(refused)):
            assert runner.next()["killed"] == "over"
        for number in range(20):
            assert runner.run(noop(), f"later {number}")[-1]["status"] == 0


def test_a_model_whose_import_starts_threads_ends_the_runner_but_no_other_job(tmp_path):
    library(tmp_path, "torch", "__version__ = '9'")
    text = """
import sys, threading, time, types
__version__ = "9"
sys.modules["transformers.modeling_utils"] = types.ModuleType("transformers.modeling_utils")
def __getattr__(name):
    if name != "Threaded":
        raise AttributeError(name)
    import wave  # so that something is new
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return type(name, (), {})
"""
    with Runner(libraries=library(tmp_path, "transformers", text)) as runner:
        assert runner.next()["start"] == "fork"
        runner.send({"op": "run", "id": "sleeper", "job": noop("sleep", options={"seconds": 0.5})})
        assert runner.next()["ev"] == "started"
        recipe = {"class": "Threaded", "type": "threaded"}
        (exit,) = runner.run({"kind": "check", "cell": {"engine": "torch"}, "recipe": recipe, "preload": True})
        assert "threads" in exit["start_error"]
        last = runner.next()
        while last["ev"] != "exit":
            last = runner.next()
        assert (last["id"], last["status"]) == ("sleeper", 0)
        assert runner.process.wait(timeout=5) == 0


def test_an_unknown_kind_or_engine_is_a_failure_of_the_job():
    with Runner("--bare") as runner:
        runner.next()
        for job in ({"kind": "dance"}, {"kind": "check", "cell": {"engine": "abacus"}}):
            events = runner.run(job)
            assert [e["ev"] for e in events] == ["started", "failure", "exit"]
            assert events[1]["type"] == "ValueError" and events[2]["status"] == 1


def test_version_imports_nothing(tmp_path):
    library(tmp_path, "torch", "raise SystemExit('imported')")
    environment = {**os.environ, "PYTHONPATH": f"{SOURCES}{os.pathsep}{tmp_path}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "assay_runner", "version"]
    described = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    assert described["protocol"] == 1 and described["versions"]["python"].startswith("3.")
