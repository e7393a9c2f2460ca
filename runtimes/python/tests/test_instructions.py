"""Instruction sets that a processor announces and cannot execute."""

import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay_runner.machine import instruction_trials, instructions
from assay_runner.process import linux

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


def test_no_answer_is_no_life():
    """One that died and then took too long is tried at the next level, and the doubt is told."""
    late = "it took too long, or something ended it"
    answer = instruction_trials.ask(LEVELS, lambda trial, level: ILL if not level else late)
    assert answer["lowered"] == ""
    run = dies({("torch", "bf16"): "AVX512_CORE_VNNI"})
    answer = instruction_trials.ask(LEVELS, lambda trial, level: late if level == LEVELS[0] else run(trial, level))
    assert answer["lowered"] == "AVX512_CORE_VNNI"
    assert answer["skipped"] == {"torch bf16": late}
    assert not instructions.whole(answer)


def test_there_is_an_end_to_it(monkeypatch):
    monkeypatch.setattr(instruction_trials, "ALL_S", 0.0)
    answer = instruction_trials.ask(LEVELS, dies({("torch", "bf16"): "AVX2"}))
    assert set(answer["skipped"].values()) == {"no time was left for it"}


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
        (kill_from_outside, "", "it took too long, or something ended it"),
    ],
)
def test_a_child_may_die(trial, level, outcome, monkeypatch):
    monkeypatch.setattr(instruction_trials, "_import", lambda engine: None)
    monkeypatch.setattr(instruction_trials, "TRIALS", {("torch", "bf16"): trial})
    before = os.environ.get(instructions.VARIABLE)
    assert instruction_trials._forked(("torch", "bf16"), level) == outcome
    assert os.environ.get(instructions.VARIABLE) == before


@pytest.mark.skipif(not linux.IS_LINUX, reason="forks")
def test_a_child_that_hangs_is_killed(monkeypatch):
    monkeypatch.setattr(instruction_trials, "LIMIT_S", 0.05)
    monkeypatch.setattr(instruction_trials, "TRIALS", {("torch", "bf16"): signal.pause})
    assert instruction_trials._forked(("torch", "bf16"), "") == "it took too long, or something ended it"


@pytest.mark.skipif(not linux.IS_LINUX, reason="forks")
def test_importing_has_a_limit_of_its_own(monkeypatch):
    monkeypatch.setattr(instruction_trials, "LIMIT_S", 0.2)
    monkeypatch.setattr(instruction_trials, "_import", lambda engine: time.sleep(0.5))
    monkeypatch.setattr(instruction_trials, "TRIALS", {("torch", "bf16"): lambda: None})
    assert instruction_trials._forked(("torch", "bf16"), "") == ""


ASKER = """
import os, signal, sys
from assay_runner.machine import instruction_trials
instruction_trials._import = lambda engine: None
def trial():
    print(os.getpid(), flush=True)
    signal.pause()
instruction_trials.TRIALS = {("torch", "bf16"): trial}
instruction_trials.ask([], instruction_trials._forked)
"""


def gone(pid):
    """Whether a process of somebody else's ends within seconds; if not, it is ended here."""
    state, end = Path("/proc") / pid / "stat", time.monotonic() + 5
    while time.monotonic() < end:
        try:
            if state.read_text().split()[2] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    os.kill(int(pid), signal.SIGKILL)
    return False


@pytest.mark.skipif(not linux.IS_LINUX, reason="signals of Linux")
def test_trials_die_with_who_asks():
    environ = {**os.environ, "PYTHONPATH": str(Path(instructions.__file__).parents[2])}
    with subprocess.Popen([sys.executable, "-c", ASKER], stdout=subprocess.PIPE, env=environ) as asker:
        trial = asker.stdout.readline().decode().strip()
        asker.kill()
    assert gone(trial)


@pytest.mark.skipif(not linux.IS_LINUX, reason="signals of Linux")
@pytest.mark.parametrize("argv", [["trial", "torch", "bf16"], ["AVX2"]])
def test_children_die_with_their_parent(argv):
    """Whose parent is gone already ends at once."""
    environ = {**os.environ, "PYTHONPATH": str(Path(instructions.__file__).parents[2])}
    command = [sys.executable, "-m", "assay_runner", "instructions", "--parent", "1", *argv]
    done = subprocess.run(command, env=environ, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.skipif(not linux.IS_LINUX, reason="groups of processes")
def test_asking_too_long_leaves_nothing(tmp_path, monkeypatch):
    note = tmp_path / "pid"
    slow = tmp_path / "python"
    slow.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {note}.new; mv {note}.new {note}; wait\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(instructions, "_ASKING_S", 1.0)
    assert instructions._ask_child(LEVELS, dict(os.environ)) is None
    assert gone(note.read_text().strip())


def test_every_trial_multiplies(monkeypatch):
    """The real products, in children of a child: whatever this processor can do, this process lives."""
    for name in (instructions.VARIABLE, instructions.OLD_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    code = "from assay_runner.machine import instruction_trials as i; i.LIMIT_S = i.ALL_S = 300.0; i.main([])"
    environ = {**os.environ, "PYTHONPATH": str(Path(instructions.__file__).parents[2])}
    answer = json.loads(subprocess.check_output([sys.executable, "-c", code.replace("[]", repr(LEVELS))], env=environ))
    assert set(answer["skipped"].values()) <= {"not installed"}, answer
    if answer["died"]:
        assert answer["lowered"] in LEVELS


def test_the_commands_of_a_fresh_interpreter(monkeypatch):
    """Where nothing can fork, each trial is an interpreter of its own."""
    monkeypatch.setenv("PYTHONPATH", str(Path(instructions.__file__).parents[2]))
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
    assert [json.loads(f.read_text()) for f in (tmp_path / "memory").glob("*.json")] == [LOWERED]


def test_the_key_is_the_programs():
    """internal/instructions has the same in its tests: both use one file."""
    fields = {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "207", "model name": "Xeon"}
    of = instructions.Processor({**fields, "cpuid level": "28", "flags": "amx_tile"})
    key = instructions.key(of, "/env/bin/python", {"torch": "2.15.0", "openvino": "2026.4.1"})
    assert key == "4b66e81a95bcf80eae06b698"


def test_another_processor_is_asked_anew(tmp_path):
    child = Asked(LOWERED)
    for level in (28, 32):
        instructions.settle({}, cpuinfo(tmp_path, level=level), tmp_path / "memory", child)
    assert len(child.levels) == 2


def test_what_gave_no_answer_is_asked_again(tmp_path):
    """It is used for now, and not kept; what is kept of former times is asked again too."""
    file, memory = cpuinfo(tmp_path), tmp_path / "memory"
    child = Asked({**LOWERED, "skipped": {"openvino int8": "it took too long"}})
    for n in (1, 2):
        assert instructions.settle({}, file, memory, child) == "AVX512_CORE_FP16"
        assert len(child.levels) == n
    assert not memory.exists()
    child.answer = {**LOWERED, "skipped": {"openvino int8": "not installed"}}
    instructions.settle({}, file, memory, child)
    assert instructions.settle({}, file, memory, child) == "AVX512_CORE_FP16"
    assert len(child.levels) == 3
    kept = next(memory.glob("*.json"))
    kept.write_text('{"lowered": "", "died": [], "skipped": {"torch bf16": "it took too long"}}')
    instructions.settle({}, file, memory, child)
    assert len(child.levels) == 4


def test_what_others_kept_meanwhile_stays(tmp_path):
    """The lower level and every death once, as the program has it."""
    file, memory = cpuinfo(tmp_path), tmp_path / "memory"
    other = {"engine": "openvino", "dtype": "int8", "level": "", "signal": ILL}

    def child(levels, environ):
        named = instructions.key(instructions.processor(file), sys.executable, instructions._versions())
        instructions._save(memory / f"{named}.json", {"lowered": "AVX2", "died": [*LOWERED["died"], other]})
        return LOWERED

    instructions.settle({}, file, memory, child)
    kept = json.loads(next(memory.glob("*.json")).read_text())
    assert kept == {"lowered": "AVX2", "died": [*LOWERED["died"], other], "skipped": {}}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"lowered": "SSE9"}', '{"lowered": "AVX2", "died": []}'])
def test_a_damaged_memory_is_none(tmp_path, text):
    file, child = cpuinfo(tmp_path), Asked(LOWERED)
    instructions.settle({}, file, tmp_path / "memory", child)
    next((tmp_path / "memory").glob("*.json")).write_text(text)
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


def may_have_core():
    """Whether this process may set the limit to 1: a hard limit of 0 is not for everybody to raise, nor for every
    root."""
    pid = os.fork()
    if pid == 0:
        try:
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (1, hard if hard else 1))
        except (OSError, ValueError):
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
def test_a_dying_child_writes_no_core():
    pid = os.fork()
    if pid == 0:
        linux.no_core_dump()
        os._exit(resource.getrlimit(resource.RLIMIT_CORE)[0])
    wanted = 1 if may_have_core() else 0
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == wanted
