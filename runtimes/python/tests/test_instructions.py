"""Instruction sets that a processor announces and cannot execute."""

import faulthandler
import json
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from assay_runner import instruction_trials, instructions, linux

ILL = int(signal.SIGILL)
FLAGS = "avx2 avx512f avx512_vnni avx512_bf16 avx512_fp16 avx_vnni amx_bf16 amx_tile amx_int8"
LEVELS = ["AVX512_CORE_FP16", "AVX512_CORE_BF16", "AVX512_CORE_VNNI", "AVX512_CORE", "AVX2"]


def cpuinfo(tmp_path, flags=FLAGS, level=28):
    file = tmp_path / "cpuinfo"
    first = f"processor\t: 0\nmodel name\t: Xeon\ncpuid level\t: {level}\nflags\t\t: {flags}\n"
    file.write_text(first + "\nprocessor\t: 1\nflags\t\t: none\n")
    return file


def dies(above):
    """Planted trials: those named die at every level above the one given for them."""

    def run(trial, level):
        run.ran.append((" ".join(trial), level))
        if trial not in above:
            return ""
        order = ["", *LEVELS]
        return ILL if order.index(level) < order.index(above[trial]) else ""

    run.ran = []
    return run


def test_nothing_dies():
    run = dies({})
    assert instruction_trials.ask(LEVELS, run) == {"lowered": "", "died": [], "skipped": {}}
    assert len(run.ran) == len(instruction_trials.TRIALS)


def test_the_first_level_at_which_nothing_dies():
    run = dies({("torch", "bf16"): "AVX512_CORE_FP16", ("openvino", "int8"): "AVX512_CORE_VNNI"})
    answer = instruction_trials.ask(LEVELS, run)
    assert answer["lowered"] == "AVX512_CORE_VNNI"
    assert answer["died"][0] == {"engine": "torch", "dtype": "bf16", "level": "", "signal": ILL}
    assert [d["level"] for d in answer["died"] if d["engine"] == "openvino"] == ["", *LEVELS[:2]]
    assert ("torch bf16", "AVX512_CORE_BF16") not in run.ran  # what lives is not tried again


def test_no_level_helps():
    answer = instruction_trials.ask(LEVELS[:2], lambda trial, level: ILL if trial[0] == "torch" else "not installed")
    assert answer["lowered"] == ""
    assert len(answer["died"]) == 6
    assert answer["skipped"] == {"openvino bf16": "not installed", "openvino int8": "not installed"}


def kill_unless_set():
    faulthandler.disable()  # pytest's, which would print all this
    if not os.environ.get(instructions.VARIABLE):
        os.kill(os.getpid(), signal.SIGILL)


def raise_absent():
    raise ModuleNotFoundError("No module named 'openvino'")


def raise_other():
    raise RuntimeError("it has no such operator")


def kill_from_outside():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not linux.IS_LINUX, reason="forks")
@pytest.mark.parametrize(
    ("trial", "level", "outcome"),
    [
        (kill_unless_set, "", ILL),
        (kill_unless_set, "AVX2", ""),
        (raise_absent, "", "not installed"),
        (raise_other, "", "raised an exception"),
        (kill_from_outside, "", "it took too long, or somebody ended it"),
    ],
)
def test_a_child_may_die(trial, level, outcome, monkeypatch):
    monkeypatch.setattr(instruction_trials, "TRIALS", {("torch", "bf16"): trial})
    before = os.environ.get(instructions.VARIABLE)
    assert instruction_trials._forked(("torch", "bf16"), level) == outcome
    assert os.environ.get(instructions.VARIABLE) == before


@pytest.mark.skipif(not linux.IS_LINUX, reason="forks")
def test_a_child_that_hangs_is_killed(monkeypatch):
    monkeypatch.setattr(instruction_trials, "LIMIT_S", 0.05)
    monkeypatch.setattr(instruction_trials, "TRIALS", {("torch", "bf16"): signal.pause})
    assert instruction_trials._forked(("torch", "bf16"), "") == "it took too long, or somebody ended it"


def test_every_trial_multiplies():
    """The real products, in children of a child: whatever this processor can do, this process lives."""
    answer = instructions._ask_child(LEVELS, {k: v for k, v in os.environ.items() if k != instructions.VARIABLE})
    assert answer is not None
    assert set(answer["skipped"].values()) <= {"not installed"}, answer
    if answer["died"]:
        assert answer["lowered"] in LEVELS


def test_the_commands_of_a_fresh_interpreter(monkeypatch):
    """Where nothing can fork, each trial is an interpreter of its own."""
    monkeypatch.setenv("PYTHONPATH", str(Path(instructions.__file__).parents[1]))
    assert instruction_trials._spawned(("torch", "bf16"), "AVX2") == ""


class Asked:
    """A child that answers as planted, and counts."""

    def __init__(self, answer):
        self.answer, self.levels = answer, []

    def __call__(self, levels, environ):
        self.levels.append(levels)
        return self.answer


LOWERED = {"lowered": "AVX512_CORE_FP16", "died": [{"engine": "torch", "dtype": "bf16", "level": "", "signal": ILL}]}


def test_asked_once_and_remembered(tmp_path):
    file, child = cpuinfo(tmp_path), Asked(LOWERED)
    for _ in range(2):
        environ = {}
        assert instructions.settle(environ, file, tmp_path / "memory", child) == "AVX512_CORE_FP16"
        assert environ == {instructions.VARIABLE: "AVX512_CORE_FP16"}
    assert child.levels == [LEVELS]
    assert [json.loads(f.read_text()) for f in (tmp_path / "memory").iterdir()] == [LOWERED]


def test_another_processor_is_asked_anew(tmp_path):
    child = Asked(LOWERED)
    for level in (28, 32):
        instructions.settle({}, cpuinfo(tmp_path, level=level), tmp_path / "memory", child)
    assert len(child.levels) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"lowered": "SSE9"}'])
def test_a_damaged_memory_is_none(tmp_path, text):
    file, child = cpuinfo(tmp_path), Asked(LOWERED)
    instructions.settle({}, file, tmp_path / "memory", child)
    next((tmp_path / "memory").iterdir()).write_text(text)
    assert instructions.settle({}, file, tmp_path / "memory", child) == "AVX512_CORE_FP16"
    assert len(child.levels) == 2


@pytest.mark.parametrize(
    ("flags", "level", "saturate"),
    [
        ("avx2", "", True),
        ("avx2 avx512f", "", True),
        ("avx2 avx_vnni", "", False),
        (FLAGS, "", False),
        (FLAGS, "AVX512_CORE_VNNI", False),
        (FLAGS, "AVX512_CORE", True),
        (FLAGS, "avx2", True),
    ],
)
def test_where_sums_of_products_saturate(tmp_path, flags, level, saturate):
    environ = {instructions.VARIABLE: level} if level else {}
    assert instructions.sums_saturate(environ, cpuinfo(tmp_path, flags)) is saturate
    assert not instructions.sums_saturate({}, tmp_path / "none")  # ARM has no such flags


@pytest.mark.parametrize("name", [instructions.VARIABLE, instructions.OLD_VARIABLE])
def test_what_the_user_has_set_stays(tmp_path, name):
    environ, child = {name: "AVX2"}, Asked(LOWERED)
    instructions.settle(environ, cpuinfo(tmp_path), tmp_path, child)
    assert environ == {name: "AVX2"}
    assert not child.levels


def test_not_asked_where_nothing_is_announced(tmp_path):
    child = Asked(LOWERED)
    for file in (cpuinfo(tmp_path, "avx2 avx512f avx512_vnni"), tmp_path / "none"):
        environ = {}
        assert instructions.settle(environ, file, tmp_path, child) == ""
        assert environ == {}
    assert not child.levels


def test_no_answer_is_not_remembered(tmp_path):
    child = Asked(None)
    for _ in range(2):
        assert instructions.settle({}, cpuinfo(tmp_path), tmp_path / "memory", child) == ""
    assert len(child.levels) == 2


def test_a_memory_that_cannot_be_written_costs_nothing(tmp_path):
    (tmp_path / "memory").write_text("in the way")
    assert instructions.settle({}, cpuinfo(tmp_path), tmp_path / "memory", Asked(LOWERED)) == "AVX512_CORE_FP16"


def test_the_memory_lies_in_the_programs_cache():
    assert instructions._folder({"ASSAY_HOME": "/a"}) == Path("/a/cache/instructions")
    assert instructions._folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/assay/instructions")
    assert instructions._folder({"XDG_CACHE_HOME": "c"}) == Path.home() / ".cache/assay/instructions"


@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
def test_a_dying_child_writes_no_core():
    pid = os.fork()
    if pid == 0:
        linux.no_core_dump()
        os._exit(resource.getrlimit(resource.RLIMIT_CORE)[0])
    wanted = 1 if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 or os.geteuid() == 0 else 0
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == wanted
