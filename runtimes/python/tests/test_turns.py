"""Children that run several jobs in turn: who stays, who goes, and that no job sees another."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading

import pytest
import torch
import transformers
from runner_process import Runner, gone, noop

from assay_runner.process import turns
from assay_runner.process.forked import Forked
from assay_runner.process.protocol import Writer
from assay_runner.process.zygote import Zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forking runners are for Linux")


def shared(task: str = "nothing", **more: object) -> dict:
    return noop(task, reuse="gpu", **more)


def pid(events: list[dict]) -> int:
    assert events[0]["ev"] == "started"
    return events[0]["pid"]


@pytest.fixture
def runner():
    with Runner("--bare") as one:
        one.next()
        yield one


def test_jobs_of_one_name_share_a_child_and_others_do_not(runner):
    first, second = runner.run(shared()), runner.run(shared())
    assert pid(first) == pid(second)
    assert [first[0]["before"], second[0]["before"]] == [0, 1]
    assert [e["ev"] for e in second] == ["started", "point", "exit"]
    assert second[-1]["status"] == 0 and second[-1]["usage"]["user_s"] < 1
    other = runner.run(noop(reuse="another"))
    alone = runner.run(noop())
    assert len({pid(first), pid(other), pid(alone)}) == 3
    assert pid(runner.run(shared())) == pid(first)


def test_each_job_has_its_own_log(runner):
    sizes = (300_000, 5, 0)
    logs = [runner.run(shared("flood", options={"bytes": size}))[-1] for size in sizes]
    assert [exit["log_bytes"] for exit in logs] == list(sizes)


@pytest.mark.parametrize("task", ["raise", "exit", "crash", "abort", "grandchild", "garbage"])
def test_what_goes_wrong_or_leaves_something_costs_no_other_job(runner, task):
    before = runner.run(shared())
    wrong = runner.run(shared(task))
    after = runner.run(shared())
    assert pid(before) == pid(wrong) != pid(after)
    assert after[0]["before"] == 0 and after[-1]["status"] == 0 and after[-1]["log"] == ""
    assert gone(pid(wrong))


def test_a_child_goes_after_so_many_jobs(runner):
    pids = [pid(runner.run(shared())) for _ in range(turns.MOST + 1)]
    assert len(set(pids[:-1])) == 1 and pids[-1] != pids[0]


def test_a_job_can_be_killed_and_the_next_finds_a_fresh_child(runner):
    resting = pid(runner.run(shared()))
    runner.send({"op": "run", "id": "long", "job": shared("hang")})
    assert runner.next()["pid"] == resting
    runner.send({"op": "kill", "id": "long", "reason": "timeout"})
    assert runner.next()["killed"] == "timeout" and gone(resting)
    assert pid(runner.run(shared())) != resting


def test_two_at_once_have_two_children(runner):
    for number in ("1", "2"):
        runner.send({"op": "run", "id": number, "job": shared("sleep", options={"seconds": 0.3})})
    events = [runner.next() for _ in range(6)]
    assert len({e["pid"] for e in events if e["ev"] == "started"}) == 2


def test_nothing_rests_beside_a_timed_job(runner):
    resting = pid(runner.run(shared()))
    timed = {"kind": "time", "cell": {"type": "noop", "engine": "noop"}, "timing": {"min_n": 1}}
    assert runner.run(timed)[-1]["status"] == 0
    assert gone(resting, within=0.01)
    assert pid(runner.run(shared())) != resting


@pytest.mark.parametrize(("size", "stays"), [("full", False), ("tiny", True)])
def test_what_rests_takes_no_memory_from_a_large_model(runner, size, stays):
    resting = pid(runner.run(shared()))
    runner.run({"kind": "check", "cell": {"type": "noop", "engine": "noop", "size": size}})
    assert (pid(runner.run(shared())) == resting) is stays


def test_a_job_that_closes_its_output_ends_no_other(runner):
    runner.send({"op": "run", "id": "beside", "job": noop("sleep", options={"seconds": 1})})
    assert runner.next()["ev"] == "started"
    closed = runner.run(shared("mute"), "mute")
    assert closed[-1]["status"] == 0
    after = runner.run(shared(), "after")
    assert after[-1]["status"] == 0 and pid(after) != pid(closed)
    events = [runner.next(), runner.next()]
    assert [(e["ev"], e["id"]) for e in events] == [("point", "beside"), ("exit", "beside")]


def test_nobody_waits_for_a_child_that_does_not_read(runner):
    resting = pid(runner.run(shared()))
    os.kill(resting, signal.SIGSTOP)
    large = runner.run(shared(options={"padding": "x" * 300_000}))
    assert pid(large) != resting and large[-1]["status"] == 0


def test_strays_are_found_and_what_rests_stays(runner):
    resting = pid(runner.run(shared()))
    stray = runner.run(noop("grandchild", options={"session": True}))[1]["data"]["pid"]
    assert gone(stray, within=2)
    assert pid(runner.run(shared())) == resting


def test_a_child_that_dies_while_it_rests_is_replaced(runner):
    resting = pid(runner.run(shared()))
    os.kill(resting, 9)
    assert gone(resting)
    after = runner.run(shared())
    assert pid(after) != resting and after[-1]["status"] == 0


def test_the_end_of_input_ends_what_rests():
    with Runner("--bare") as runner:
        runner.next()
        resting = pid(runner.run(shared()))
    assert gone(resting)


def _patch():
    original = torch.nn.functional.relu
    torch.nn.functional.relu = lambda x: x
    return lambda: setattr(torch.nn.functional, "relu", original)


def _set(setter, left, usual):
    def leave():
        setter(left)
        return lambda: setter(usual)

    return leave


def _replaced(place, name):
    def leave():
        original = getattr(place, name)
        setattr(place, name, lambda *args, **kwargs: None)
        return lambda: setattr(place, name, original)

    return leave


def _thread():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="left behind")
    thread.start()
    return lambda: stop.set() or thread.join()


def _entered(context):
    context.__enter__()
    return lambda: context.__exit__(None, None, None)


def _variable():
    os.environ["LEFT_BEHIND"] = "1"
    return lambda: os.environ.pop("LEFT_BEHIND")


LEFT = {
    "default dtype": _set(torch.set_default_dtype, torch.float64, torch.float32),
    "default device": _set(torch.set_default_device, "meta", None),
    "gradients": _set(torch.set_grad_enabled, False, True),
    "deterministic": _set(torch.use_deterministic_algorithms, True, False),
    "attention": _set(torch.backends.cuda.enable_math_sdp, False, True),
    "environment": _variable,
    "functions of torch.nn.functional": _patch,
    "layers": _replaced(torch.nn.Linear, "forward"),
    "functions of transformers.modeling_utils.PreTrainedModel": _replaced(
        transformers.modeling_utils.PreTrainedModel, "post_init"
    ),
    "hooks": lambda: torch.nn.modules.module.register_module_forward_hook(lambda *_: None).remove,
    "backends": _set(lambda on: setattr(torch.backends.cudnn, "deterministic", on), True, False),
    "collector": lambda: gc.disable() or gc.enable,
    "path": lambda: sys.path.append("/left/behind") or sys.path.pop,
    "threads": _thread,
    "autocast": lambda: _entered(torch.autocast("cpu", torch.bfloat16)),
}
"""What a model might leave behind: a function that does, and returns what takes it back."""


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_behind_is_named(name):
    before = turns.state()
    take_back = LEFT[name]()
    try:
        left = turns.differences(before, turns.state(tidy=True))
    finally:
        take_back()
    assert name in left
    assert name not in turns.differences(before, turns.state())


def test_another_folder_is_left_behind(monkeypatch, tmp_path):
    before = turns.state()
    monkeypatch.chdir(tmp_path)
    assert turns.differences(before, turns.state()) == ["folder"]


def test_names_that_are_new_are_no_matter():
    before = turns.state()
    torch.nn.functional.made_for_this_test = lambda x: x
    try:
        assert turns.differences(before, turns.state()) == []
    finally:
        del torch.nn.functional.made_for_this_test


def test_what_was_printed_before_the_end_belongs_to_the_job():
    (said, out), (prints, printed) = os.pipe(), os.pipe()
    try:
        zygote = Zygote(0, Writer(out))
        one = zygote.jobs["1"] = Forked("1", Writer(out), reuse="gpu")
        one.prints = prints
        one.open.add(prints)
        os.set_blocking(prints, False)
        os.write(printed, b"the last line")
        zygote._rest(one)
        assert json.loads(os.read(said, 1 << 16))["log"] == "the last line"
        assert one.rests and one.log.text() == ""
    finally:
        for fd in (said, out, prints, printed):
            os.close(fd)
