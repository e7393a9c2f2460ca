"""Instruction sets that a processor announces and cannot execute, and the variable that keeps libraries from them.

A virtual machine may announce AMX and hide the CPUID leaves that say how its tiles are set up. oneDNN, which torch and
OpenVINO multiply with, then sets none up, and its first product ends the process with SIGILL. Reading CPUID says
little: a product in a child shows it. `instruction_trials` makes it, without the variable and then at ever lower
levels, and says what died. `settle` does all that a process needs: the answer is kept in Assay's cache, a file for each
processor and set of packages, which the program (internal/instructions) reads and writes too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from assay_runner.workarounds import Fault

FAULT = Fault(
    "onednn_trusts_announced_tiles", "torch", ("2.15.0",), "AMX that is announced and cannot be set up ends the process"
)
VARIABLE = "ONEDNN_MAX_CPU_ISA"
OLD_VARIABLE = "DNNL_MAX_CPU_ISA"  # its name before oneDNN had its own; still read

LEVELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("AVX512_CORE_FP16", ("amx_tile", "amx_bf16", "amx_int8", "amx_fp16", "amx_complex")),
    ("AVX512_CORE_BF16", ("avx512_fp16",)),
    ("AVX512_CORE_VNNI", ("avx512_bf16",)),
    ("AVX512_CORE", ("avx512_vnni",)),
    ("AVX2", ("avx512f", "avx_vnni")),
)
"""The variable's levels, highest first, each with the flags of /proc/cpuinfo that it leaves out."""

ASKED = frozenset(flag for level, flags in LEVELS[:3] for flag in flags)
"""The flags for which it is worth asking: the newest ones, which virtual machines get wrong."""

PACKAGES = ("torch", "openvino")
SCHEMA = 1
CPUINFO = Path("/proc/cpuinfo")
ABSENT = "not installed"
"""The only reason for which a trial may be left out for good."""

_ASKING_S, _LOCK_S = 180.0, 5.0


@dataclass(frozen=True)
class Processor:
    """What /proc/cpuinfo says of the first processor; empty where there is no such file."""

    fields: Mapping[str, str]

    @property
    def flags(self) -> frozenset[str]:
        """What it announces."""
        return frozenset(self.fields.get("flags", "").split())

    @property
    def announces(self) -> bool:
        """Whether it announces what is worth trying."""
        return bool(self.flags & ASKED)

    def levels(self) -> list[str]:
        """The levels below what it announces, highest first."""
        first = next((i for i, (_, left_out) in enumerate(LEVELS) if self.flags & set(left_out)), len(LEVELS))
        return [name for name, _ in LEVELS[first:]]


def processor(cpuinfo: Path = CPUINFO) -> Processor:
    """This machine's."""
    fields: dict[str, str] = {}
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in cpuinfo.read_text().partition("\n\n")[0].splitlines():
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
    return Processor(fields)


_WITHOUT_VNNI = frozenset({"SSE41", "AVX", "AVX2", "AVX512_CORE"})


def sums_saturate(environ: Mapping[str, str] = os.environ, cpuinfo: Path = CPUINFO) -> bool:
    """Whether products of 8-bit numbers are added up in 16 bits here, which overflow: x86 without VNNI, or kept from
    it."""
    flags = processor(cpuinfo).flags
    level = (environ.get(VARIABLE) or environ.get(OLD_VARIABLE) or "").upper()
    return bool(flags) and (level in _WITHOUT_VNNI or not flags & {"avx512_vnni", "avx_vnni"})


def key(of: Processor, python: str, versions: Mapping[str, str]) -> str:
    """Names the file of an answer: another processor, Python or package is asked again. internal/instructions has the
    same."""
    named = ("vendor_id", "cpu family", "model", "model name", "cpuid level", "flags")
    parts = [str(SCHEMA), *(of.fields.get(name, "") for name in named), str(Path(python).parent.parent)]
    parts += [versions.get(name, "") for name in PACKAGES]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def settle(
    environ: Any = os.environ, cpuinfo: Path = CPUINFO, folder: Path | None = None, ask_child: Any = None
) -> str:
    """Set the variable for this process and its children where the processor needs it; its value, "" where it is not
    needed. It has to be called before anything is computed: oneDNN reads the variable once. What the user has set
    stays."""
    this = processor(cpuinfo)
    if environ.get(VARIABLE) or environ.get(OLD_VARIABLE) or not this.announces:
        return environ.get(VARIABLE) or ""
    named = key(this, sys.executable or "", _versions())
    file = (folder or _folder(environ)) / f"{named}.json"
    found = _load(file)
    if found is None or not whole(found):
        asked = (ask_child or _ask_child)(this.levels(), environ)
        if asked is not None:
            found = merged(found, asked)
            if whole(asked):  # what gave no answer is asked again next time
                _save(file, asked)
    lowered = str((found or {}).get("lowered") or "")
    if lowered:
        environ[VARIABLE] = lowered
    return lowered


def whole(found: Mapping[str, Any]) -> bool:
    """Whether every trial that this environment can make has given an answer."""
    return all(why == ABSENT for why in (found.get("skipped") or {}).values())


def merged(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """Two findings of one processor: the lower level, and every death once. internal/instructions has the same."""
    if old is None:
        return dict(new)
    order = ["", *(name for name, _ in LEVELS)]
    died = [*old.get("died", ()), *new.get("died", ())]
    return {
        "lowered": max(old["lowered"], new["lowered"], key=order.index),
        "died": [death for i, death in enumerate(died) if death not in died[:i]],
        "skipped": dict(new.get("skipped") or {}),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(Exception):  # absent, or its metadata cannot be read
            found[name] = metadata.version(name)
    return found


def _folder(environ: Mapping[str, str]) -> Path:
    """Where the program keeps its answers: see internal/environment's Folders."""
    if home := environ.get("ASSAY_HOME"):
        return Path(home).absolute() / "cache" / "instructions"
    base = environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return cache / "assay" / "instructions"


def _load(file: Path) -> dict[str, Any] | None:
    """What is kept; a damaged file is as good as none."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("lowered") not in {"", *(name for name, _ in LEVELS)}:
        return None
    return found if found.get("died") or not found["lowered"] else None  # nothing is lowered without a death


def _save(file: Path, found: Mapping[str, Any]) -> None:
    """Add to what others have kept meanwhile, and put the file in its place whole. A cache that cannot be written is as
    good as none."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(file.parent / "lock"):
            fd, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
            with os.fdopen(fd, "w") as out:
                json.dump(merged(_load(file), found), out)
            Path(name).replace(file)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The lock that internal/instructions takes too; an OSError where it is not to be had."""
    import fcntl  # only where there is a /proc/cpuinfo is anything kept

    with path.open("a") as file:
        end = time.monotonic() + _LOCK_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        yield


def _ask_child(levels: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Ask in a process of its own, which imports what this one may not have imported yet."""
    folder = str(Path(__file__).parents[2])
    path = os.pathsep.join([folder, environ["PYTHONPATH"]]) if environ.get("PYTHONPATH") else folder
    command = [sys.executable, "-m", "assay_runner", "instructions", "--parent", str(os.getpid()), *levels]
    try:
        child = subprocess.Popen(
            command,
            env={**environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    with child:
        try:
            return json.loads(child.communicate(timeout=_ASKING_S)[0])
        except (ValueError, subprocess.SubprocessError):
            return None
        finally:
            if child.poll() is None:  # too slow, or we are interrupted: it and its trials
                os.killpg(child.pid, signal.SIGKILL)


def main(argv: list[str]) -> None:
    """Print, as JSON, what dies and at which of the levels nothing does: `instructions LEVEL…`."""
    from . import instruction_trials

    instruction_trials.main(argv)
