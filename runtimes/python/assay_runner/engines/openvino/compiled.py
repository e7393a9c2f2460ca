"""A model that OpenVINO has compiled, run in one of two scenarios.

Latency is one request, awaited. Throughput is as many requests in flight as the device asks for: a run hands WAVES
inferences to each of them and awaits them all, so that the device is awaited at both ends of a sample as everywhere
else. What such a run costs at its end, where requests wait for the last one, is an eighth of an inference at most.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov

from assay_runner.engines import contract
from assay_runner.engines.contract import Arrays, Asked, Placement
from assay_runner.engines.openvino.generating import Encoder, continued
from assay_runner.subjects.generation import NEW_TOKENS, TOKENS, prompted
from assay_runner.subjects.streams import Clock

from .precision import executed

WAVES = 8

_TOLD = (
    "PERFORMANCE_HINT",
    "INFERENCE_PRECISION_HINT",
    "NUM_STREAMS",
    "INFERENCE_NUM_THREADS",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "OPTIMAL_NUMBER_OF_INFER_REQUESTS",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "KV_CACHE_PRECISION",
)
"""The properties of a compiled model that a result tells."""


class Latency(contract.Compiled):
    """One request at a time."""

    def __init__(self, compiled: ov.CompiledModel, asked: Asked, names: Sequence[str], key: str = "") -> None:
        self._compiled, self._asked, self._names, self.key = compiled, asked, names, key
        self._request = compiled.create_infer_request()
        self._held: list[ov.Tensor] = []

    def bind(self, feeds: Arrays) -> None:
        """The request reads the arrays where they lie."""
        self._held = _put(self._compiled, self._request, feeds)

    def run(self) -> None:
        """One inference, awaited; the outputs stay where the request has them."""
        self._request.infer(share_outputs=True)

    def outputs(self) -> dict[str, np.ndarray]:
        """What the last run gave, named by position."""
        return _outputs(self._compiled, self._request, self._names)

    def before(self) -> Encoder:
        """The request as what runs once before a generation."""
        return Encoder(self._request, self._names)

    def placement(self) -> Placement:
        """The nodes that ran, as the counters tell where they are on, else those of the compiled graph."""
        devices = ",".join(self.devices())
        counters = _counters(self._request) if self._asked.profile else []
        if counters:
            return Placement(devices, {devices: sum(row["count"] for row in counters)}, counters=counters)
        return Placement(devices, {devices: len(self._compiled.get_runtime_model().get_ops())})

    def devices(self) -> list[str]:
        """Where it runs: what AUTO chose."""
        return [name.strip("()") for name in self._compiled.get_property("EXECUTION_DEVICES")]

    def facts(self) -> dict[str, Any]:
        """Version, settings as the compiled model tells them, and what its nodes compute in."""
        return {
            "versions": {"openvino": ov.get_version().partition("-")[0]},
            "engine_settings": {"device": ",".join(self.devices())} | _told(self._compiled) | self._own_settings(),
            "precisions": executed(self._compiled),
        }

    def _own_settings(self) -> dict[str, str]:
        """Those of the attempt, which a compiled model does not tell."""
        return {name.lower(): value for name, value in self._asked.settings.items()}


class Queue(Latency):
    """As many requests in flight as the device asks for."""

    def __init__(self, compiled: ov.CompiledModel, asked: Asked, names: Sequence[str], key: str = "") -> None:
        super().__init__(compiled, asked, names, key)
        self._queue = ov.AsyncInferQueue(compiled)
        self._requests = list(self._queue)
        self._request = self._requests[0]  # which speaks for all
        self.items = WAVES * len(self._requests)

    def bind(self, feeds: Arrays) -> None:
        """Every request reads the same arrays."""
        self._held = [tensor for request in self._requests for tensor in _put(self._compiled, request, feeds)]

    def run(self) -> None:
        """All inferences of a run, the last one awaited."""
        for _ in range(self.items):
            self._queue.start_async()
        self._queue.wait_all()


class Generating(Latency):
    """Whole generations, one at a time; the encoder of a model that has one is a part of each."""

    new_tokens = NEW_TOKENS
    """How many tokens a generation has. The state grows: it may be set to any number before a run."""

    def __init__(
        self,
        compiled: ov.CompiledModel,
        asked: Asked,
        names: Sequence[str],
        key: str = "",
        encoder: Latency | None = None,
    ) -> None:
        super().__init__(compiled, asked, names, key)
        self._clock = Clock()
        self.new_tokens = int(asked.cell.get(TOKENS) or NEW_TOKENS)
        self._encoder = encoder
        self._feeds: Arrays = {}
        self._made: dict[str, np.ndarray] = {}

    @property
    def any_prompt(self) -> bool:
        """Whether prompts of any length go; an encoder has the length that it was exported with."""
        return self._encoder is None

    def bind(self, feeds: Arrays) -> None:
        """The prompt; each step brings its own inputs."""
        self._feeds = feeds

    def run(self) -> None:
        """One generation."""
        encoder = self._encoder.before() if self._encoder else None
        self._made = continued(self._request, encoder, self._feeds, self.new_tokens, self._clock)
        self._clock.end(self.new_tokens)

    def outputs(self) -> dict[str, np.ndarray]:
        """Logits of each step and the ids that were chosen."""
        return self._made

    def placement(self) -> Placement:
        """Those of a step, and of the encoder."""
        step = super().placement()
        return step.beside(self._encoder.placement()) if self._encoder else step

    def forget(self) -> None:
        """Those so far do not count."""
        self._clock.forget()

    def generation(self) -> dict[str, Any]:
        """What the generations so far took."""
        batch, prompt = prompted(self._feeds)
        return self._clock.report(prompt, self.new_tokens, batch)


SCENARIOS: dict[str, tuple[str, type[Latency]]] = {
    "latency": ("LATENCY", Latency),
    "throughput": ("THROUGHPUT", Queue),
}
"""The cell's scenario → the hint that the device gets, and what runs it."""


def _put(compiled: ov.CompiledModel, request: Any, feeds: Arrays) -> list[ov.Tensor]:
    """Gives a request its inputs without a copy. An input that the compiled graph does without is left out."""
    held = []
    for port in compiled.inputs:
        name = next(name for name in port.get_names() if name in feeds)
        array = feeds[name]
        tensor = ov.Tensor(array, shared_memory=array.size > 0 and array.ndim > 0)
        request.set_tensor(port, tensor)
        held.append(tensor)
    return held


def _outputs(compiled: ov.CompiledModel, request: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    return {name: request.get_tensor(port).data.copy() for name, port in zip(names, compiled.outputs, strict=True)}


def _counters(request: Any) -> list[dict[str, Any]]:
    """What ran, by operation and kernel, the longest first, in microseconds."""
    total: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for info in request.profiling_info:
        if info.status == ov.ProfilingInfo.Status.EXECUTED:
            total[info.node_type, info.exec_type].update(count=1, us=int(info.real_time.total_seconds() * 1e6))
    rows = [{"operator": op, "kernel": kernel, **seen} for (op, kernel), seen in total.items()]
    return sorted(rows, key=lambda row: -row["us"])


def _told(compiled: ov.CompiledModel) -> dict[str, str]:
    """The settings that the compiled model tells; AUTO tells fewer."""
    found = {}
    for name in _TOLD:
        try:
            value = compiled.get_property(name)
        except RuntimeError:
            continue
        found[name.lower()] = (
            value.get_type_name() if isinstance(value, ov.Type) else str(getattr(value, "name", value))
        )
    return found
