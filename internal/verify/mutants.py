"""Runs a generated test file as it is and then with its model broken in one way after the other.

    python mutants.py FILE PLATFORM [--artefacts DIR]

A mutant is a way in which a device, a library or a build may be wrong. It is put below the test file: into what a
subject computes, loads and says of itself, never into the questions. The file must be green as it is and red with
each mutant. Prints one JSON object: the outcome of every test as it is, and of each mutant which test noticed it, or
why it cannot be tried there.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOISE = 10  # tolerances


class Watch:
    """Notes what becomes of every test."""

    def __init__(self) -> None:
        self.outcomes: dict[str, tuple[str, str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test fails where any of its phases does; it is skipped where one is."""
        told = str(getattr(report.longrepr, "reprcrash", None) or report.longrepr or "")
        if isinstance(report.longrepr, tuple):
            told = report.longrepr[2]
        known = self.outcomes.get(report.nodeid, ("passed", ""))[0]
        if report.failed or (report.skipped and known != "failed"):
            self.outcomes[report.nodeid] = (report.outcome, told)
        elif report.when == "call":
            self.outcomes.setdefault(report.nodeid, ("passed", ""))

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be imported fails."""
        if report.failed:
            self.outcomes[report.nodeid] = ("failed", str(report.longrepr))

    def named(self, outcome: str) -> list[str]:
        """The tests with that outcome."""
        return [node.rpartition("::")[2] for node, (found, _) in self.outcomes.items() if found == outcome]

    def noticing(self) -> list[str]:
        """The tests that failed by what they assert, and not because the mutant itself does not work."""
        said = {node.rpartition("::")[2]: why for node, (found, why) in self.outcomes.items() if found == "failed"}
        return [name for name, why in said.items() if "AssertionError" in why or ": assert" in why or "DID NOT RAISE" in why]


class Mutation:
    """Breaks the classes of conftest.py before the tests run."""

    def __init__(self, apply: Callable[[Any], None]) -> None:
        self._apply = apply

    def pytest_collection_finish(self, session: Any) -> None:
        """The conftest of the file is loaded by now, and no subject is made."""
        for plugin in session.config.pluginmanager.get_plugins():
            if getattr(plugin, "__name__", "").rpartition(".")[2] == "conftest" and hasattr(plugin, "TOLERANCE"):
                self._apply(plugin)


def wrapped(owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replaces a method by one that changes what it returns: change(self, result, *arguments)."""
    original = getattr(owner, name)

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        return change(self, original(self, *arguments, **named), *arguments)

    setattr(owner, name, method)


def classes(conftest: Any) -> list[type]:
    """The subjects' classes that define how they run."""
    return [getattr(conftest, name) for name in ("Torch", "Artefact") if hasattr(conftest, name)]


def outputs(change: Callable[[Any, dict], dict]) -> Callable[[Any], None]:
    """A mutant that changes what is computed on the device."""

    def apply(conftest: Any) -> None:
        for owner in classes(conftest):
            wrapped(owner, "run", lambda self, result, *_: change(self, dict(result)))

    return apply


def first_float(found: dict) -> str:
    return next(name for name, t in found.items() if t.is_floating_point() and t.numel() > 1)


def noisy(self: Any, found: dict) -> dict:
    """Every float is off by ten tolerances of its output's largest value, up or down in turn."""
    import torch

    for name, t in found.items():
        if t.is_floating_point() and t.numel():
            signs = (torch.arange(t.numel()) % 2 * 2 - 1).reshape(t.shape)
            scale = t[t.isfinite()].abs().max() if t.isfinite().any() else 1.0
            found[name] = t + (NOISE * self.tolerance * scale * signs).to(t.dtype)
    return found


def holed(self: Any, found: dict) -> dict:
    """One number is none."""
    name = first_float(found)
    found[name] = found[name].clone()
    found[name].view(-1)[-1] = float("nan")
    return found


def constant(self: Any, found: dict) -> dict:
    """Every output is its own mean."""
    return {n: t.new_full(t.shape, t.float().mean().item()) if t.is_floating_point() else t for n, t in found.items()}


def swapped(self: Any, found: dict) -> dict:
    """The rows of a batch come in another order."""
    expected = self.file.OUTPUTS or {name: (None, None, (0,)) for name in found}
    for name, (_, shape, axes) in expected.items():
        for axis in axes if name in found else ():
            if shape is None or found[name].shape[axis] != shape[axis]:
                rows = found[name].chunk(self.batch_size, axis)
                found[name] = __import__("torch").cat([*rows[1:], rows[0]], axis)
    return found


def heaviest(parameters: Any) -> Any:
    """The largest matrix that is neither the first nor the last: one inside of the model."""
    wide = [(name, p) for name, p in parameters if p.ndim > 1]
    return max(wide[1:-1] or wide, key=lambda pair: pair[1].numel())


def without_layer(conftest: Any) -> None:
    """A layer of the model on the device is zero."""
    if hasattr(conftest, "Torch"):

        def zero(self: Any, _: Any, *__: Any) -> None:
            heaviest(self.model.named_parameters())[1].data.zero_()

        wrapped(conftest.Torch, "__init__", zero)
    if hasattr(conftest, "OpenVINO"):
        conftest.OpenVINO.load = damaged_ir


def damaged_ir(self: Any, folder: Path) -> Any:
    """The IR with its largest matrix zeroed."""
    import numpy as np
    import openvino
    from openvino import opset13

    model = openvino.Core().read_model(folder / "model.xml")
    wide = [op for op in model.get_ops() if op.get_type_name() == "Constant" and len(op.get_output_shape(0)) > 1]
    worst = max(wide, key=lambda op: np.prod(op.get_output_shape(0)))
    zero = opset13.constant(np.zeros(tuple(worst.get_output_shape(0)), worst.get_data().dtype))
    for port in worst.output(0).get_target_inputs():
        port.replace_source_output(zero.output(0))
    return openvino.Core().compile_model(model, self.place["device"], self.settings())


def forgetful(conftest: Any) -> None:
    """What is loaded again lacks a tensor that was saved."""
    if hasattr(conftest, "Torch"):
        wrapped(conftest.Torch, "reload", lambda self, again, *_: lose(again))
    if hasattr(conftest, "OpenVINO"):
        conftest.OpenVINO.saved = lambda self, folder: damaged_ir(self, self.folder(1))


def lose(again: Any) -> Any:
    import torch

    with torch.no_grad():
        heaviest(again.model.named_parameters())[1].normal_(0.0, 0.02)
    return again


def at_home(conftest: Any) -> None:
    """The model stays on the CPU, whatever was asked for."""
    if hasattr(conftest, "Torch"):

        def stay(self: Any, _: Any, *__: Any) -> None:
            self.model, self.device = self.model.to("cpu"), "cpu"

        wrapped(conftest.Torch, "__init__", stay)
    if hasattr(conftest, "QNN"):
        conftest.QNN.load = on_host


def on_host(self: Any, folder: Path) -> Any:
    """The graph in fp32, by ONNX Runtime on the CPU."""
    import onnxruntime

    kind = self.file.TYPE
    batch = folder.name.partition("-fp16")[2]
    found = self.out / f"{kind}-onnx-fp32{batch}"
    if not found.exists():
        asked = f"export {kind} --format onnx --dtype fp32 --batch {batch.removeprefix('-b') or 1} --json"
        sys.modules[type(self).__module__].assay(*asked.split(), "--out", str(self.out))
    return onnxruntime.InferenceSession(found / "model.onnx", providers=["CPUExecutionProvider"])


def in_fp32(conftest: Any) -> None:
    """The model computes in fp32, though half of that was asked for."""
    if hasattr(conftest, "Torch"):

        def widen(self: Any, _: Any, *__: Any) -> None:
            import torch

            self.model, self.real = self.model.float(), torch.float32

        wrapped(conftest.Torch, "__init__", widen)
    if hasattr(conftest, "OpenVINO"):
        conftest.OpenVINO.settings = lambda self: {"INFERENCE_PRECISION_HINT": "f32"}


def results(change: Callable[[dict], None]) -> Callable[[Any], None]:
    """A mutant of what a browser gave: assay's results, changed."""

    def apply(conftest: Any) -> None:
        original = conftest.assay

        def told(*arguments: str) -> Any:
            found = copy.deepcopy(remembered(original, arguments))
            for result in found["results"]:
                change(result)
            return found

        conftest.assay = told

    return apply


_KEPT: dict[tuple[str, ...], Any] = {}


def remembered(ask: Callable[..., Any], arguments: tuple[str, ...]) -> Any:
    """A browser is asked once."""
    if arguments not in _KEPT:
        _KEPT[arguments] = ask(*arguments)
    return _KEPT[arguments]


def told_noise(result: dict) -> None:
    result["numerics"]["max_rel"] = NOISE * result["numerics"]["tolerance"]


def told_nan(result: dict) -> None:
    result["numerics"] |= {"max_rel": None, "max_abs": None}


def told_damage(result: dict) -> None:
    """The error is the one that was measured of the damaged model."""
    result["numerics"]["max_rel"] = result["numerics"]["control"]["change"]


def told_swap(result: dict) -> None:
    if result["cell"]["batch"] > 1:
        told_damage(result)


def told_constant(result: dict) -> None:
    """What is constant differs from the reference by about its largest value."""
    result["numerics"]["max_rel"] = 1.0


def told_home(result: dict) -> None:
    result["placement"]["nodes"] = {"cpu": sum(result["placement"]["nodes"].values())}


def told_fp32(result: dict) -> None:
    result["actual"]["dtype"] = "fp32"


NO_SAVING = "a browser saves nothing"
ITSELF = "the platform is the CPU"
COMPILED = "a compiled context cannot be opened"
FIXED = "the HTP has no fp32 to fall back to"
# Each mutant: for subjects, for browsers, and the platforms where it cannot be, with why.
MUTANTS: dict[str, tuple[Callable, Callable | None, dict[str, str]]] = {
    "noise of 10 tolerances": (outputs(noisy), results(told_noise), {}),
    "one NaN": (outputs(holed), results(told_nan), {}),
    "swapped batch rows": (outputs(swapped), results(told_swap), {}),
    "a zeroed layer": (without_layer, results(told_damage), {"qnn": COMPILED}),
    "a tensor lost on reload": (forgetful, None, {"qnn": COMPILED, "webnn": NO_SAVING, "webgpu": NO_SAVING}),
    "silently on the CPU": (at_home, results(told_home), {"cpu": ITSELF, "openvino": ITSELF}),
    "silently fp32": (in_fp32, results(told_fp32), {"qnn": FIXED}),
    "constant output": (outputs(constant), results(told_constant), {}),
}
HALF = {"cpu": "bf16", "openvino": "bf16"}  # elsewhere fp16
BROWSERS = ("webnn", "webgpu")


def run(file: str, platform: str, more: list[str], plugins: list[Any]) -> Watch:
    """The outcome of a file's tests on a platform."""
    watch = Watch()
    for name in [name for name in sys.modules if name == "conftest" or name.startswith("test_hf_")]:
        del sys.modules[name]
    asked = [file, "--device", platform, "-q", "-p", "no:cacheprovider", "-W", "ignore", "--no-header", *more]
    pytest.main(asked, plugins=[watch, *plugins])
    return watch


def main() -> None:
    said = sys.__stdout__
    sys.stdout = sys.stderr  # what pytest prints is not part of the answer
    file, platform, *more = sys.argv[1:]
    start = [Mutation(results(lambda result: None))] if platform in BROWSERS else []
    plain = run(file, platform, more, start)
    answer: dict[str, Any] = {
        "passed": plain.named("passed"),
        "skipped": {n.rpartition("::")[2]: why for n, (o, why) in plain.outcomes.items() if o == "skipped"},
        "failed": {n.rpartition("::")[2]: why[:500] for n, (o, why) in plain.outcomes.items() if o == "failed"},
        "mutants": {},
    }
    if answer["passed"] and not answer["failed"]:
        answer["mutants"] = {name: tried(name, file, platform, more, plain) for name in MUTANTS}
    print(json.dumps(answer), file=said)


def tried(name: str, file: str, platform: str, more: list[str], plain: Watch) -> dict[str, Any]:
    """What became of one mutant: the tests that noticed it, or why it was not tried."""
    subject, browser, cannot = MUTANTS[name]
    if platform in cannot:
        return {"noticed_by": [], "cannot": cannot[platform]}
    apply = browser if platform in BROWSERS else subject
    if name == "swapped batch rows" and not any(n.startswith(("test_batch", "test_agrees_in")) for n in plain.named("passed")):
        return {"noticed_by": [], "cannot": "it takes no batch"}
    if name == "a tensor lost on reload" and not any(n.startswith("test_saves") for n in plain.named("passed")):
        return {"noticed_by": [], "cannot": "it is not saved"}
    if name == "silently fp32":
        more = [*more, "--dtype", HALF.get(platform, "fp16")]
        plain = run(file, platform, more, [Mutation(results(lambda r: None))] if platform in BROWSERS else [])
        if not plain.named("passed"):
            why = next((why for _, why in plain.outcomes.values() if why), "no test ran")
            return {"noticed_by": [], "cannot": f"half precision does not run unchanged: {why[:200]}"}
    red = plain.named("failed")  # these cannot notice anything; what is skipped for a partial model can
    noticed = run(file, platform, more, [Mutation(apply)]).noticing()
    return {"noticed_by": [name for name in noticed if name not in red]}


if __name__ == "__main__":
    main()
