"""ONNX Runtime on the host's CPU, and on CUDA where the installed build has its provider."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnxruntime as ort

from assay_runner.engines import in_flight
from assay_runner.engines.contract import Arrays, Asked, Backend, Compiled, Exported, LeftOver, Placement
from assay_runner.errors import AbsentDevice, UnsupportedDType
from assay_runner.exporting.store import Store

from .session import Bound, Place, options

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
"""The platform → its provider."""

_TYPES = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16", "double": "fp64"}
"""What a profile calls the types that matter → a cell's dtypes."""

Provider = str | tuple[str, dict[str, str]]


def place(asked: Asked) -> Place:
    """Where the cell's inputs and outputs belong."""
    return Place() if asked.platform == "cpu" else Place(asked.platform, int(asked.device or 0))


def providers(asked: Asked) -> list[Provider]:
    """The platform's provider with its settings, and the host's for what that one cannot run."""
    if asked.platform == "cpu":
        return [PROVIDERS["cpu"]]
    # TF32 rounds products of fp32 to ten bits: a cell that asks for fp32 means fp32.
    settings = {"device_id": str(place(asked).index), "use_tf32": "0"}
    return [(PROVIDERS[asked.platform], settings), PROVIDERS["cpu"]]


def confirm(session: ort.InferenceSession, asked: Asked) -> dict[str, str]:
    """The settings of the platform's provider as the session tells them. ONNX Runtime goes on without a provider that
    does not load, and a cell must not be measured elsewhere than it says."""
    provider = PROVIDERS[asked.platform]
    if provider not in session.get_providers():
        raise AbsentDevice(
            f"onnxruntime {ort.__version__} could not load {provider} and would have run on the CPU: its log says why"
        )
    told = session.get_provider_options().get(provider, {})
    if asked.platform != "cpu" and told.get("device_id", "0") != str(place(asked).index):
        raise AbsentDevice(f"{provider} uses device {told.get('device_id')} instead of {asked.device}")
    return told


class OnnxRuntime(Backend):
    """Runs graphs with the platform's provider, in float32."""

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked = asked
        if asked.dtype != "fp32":
            raise UnsupportedDType(
                f"the engine onnxruntime runs graphs in fp32 here, not in {asked.dtype}: its CPU provider has too few "
                "operators in half precision"
            )
        provider = PROVIDERS[asked.platform]
        if provider not in ort.get_available_providers():
            raise AbsentDevice(f"onnxruntime {ort.__version__} was built without {provider}")

    def prepare(self, exported: Exported) -> Exported:
        """The graph as it is."""
        return exported

    def compile(self, prepared: Exported) -> Session:
        """A session on the platform's provider."""
        return (Several if self._asked.scenario == "throughput" else Session)(self._asked, prepared)


class Session(Bound, Compiled):
    """A session with its inputs and outputs bound."""

    def __init__(self, asked: Asked, exported: Exported) -> None:
        self._provider = PROVIDERS[asked.platform]
        self._exported, self._asked, self.key = exported, asked, exported.key
        self._precisions: Counter[str] = Counter()
        session = ort.InferenceSession(str(exported.graph), sess_options=options(asked), providers=providers(asked))
        self._told = confirm(session, asked)
        super().__init__(session, [spec["name"] for spec in exported.outputs], place(asked))

    def placement(self) -> Placement:
        """Counted by a profile of one run in its own session: the timed one is not slowed by it."""
        seen, self._precisions = _profiled(self._exported.graph, self._asked, self._feeds)
        left = Counter({key: n for key, n in seen.items() if key[0] != self._provider})
        return Placement(
            self._asked.platform,
            dict(_by_provider(seen)),
            [LeftOver(operator, n, provider) for (provider, operator), n in left.most_common()],
        )

    def facts(self) -> dict[str, Any]:
        """Version, provider, and what it says about its device and precision."""
        facts: dict[str, Any] = {"versions": {"onnxruntime": ort.__version__}, "provider": self._provider}
        if self._precisions:
            facts["precisions"] = dict(self._precisions)
        if self._told:
            facts["engine_settings"] = {"provider": self._provider} | self._told
        if "use_tf32" in self._told:
            facts["tf32"] = self._told["use_tf32"] != "0"
        return facts


class Several(Session):
    """A session with several requests in flight, each with its inputs and outputs bound, and one thread to compute with
    where they are the processor's."""

    def __init__(self, asked: Asked, exported: Exported) -> None:
        count = in_flight.count(asked.platform == "cpu", asked.threads)
        super().__init__(replace(asked, threads=1) if asked.platform == "cpu" else asked, exported)
        self._others = [Bound(self._session, self._names, self._place) for _ in range(count - 1)]
        self._flight = in_flight.InFlight([super().run, *(other.run for other in self._others)])
        self.items = self._flight.items

    def bind(self, feeds: Arrays) -> None:
        """Every request reads the same arrays."""
        super().bind(feeds)
        for other in self._others:
            other.bind(feeds)

    def run(self) -> None:
        """All inferences of a run, awaited."""
        self._flight.run()

    def facts(self) -> dict[str, Any]:
        """With how many requests are in flight."""
        facts = super().facts()
        facts["engine_settings"] = {**facts.get("engine_settings", {}), "requests": str(len(self._others) + 1)}
        return facts


def _profiled(graph: Path, asked: Asked, feeds: Arrays) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """(provider, operator) → how many nodes ran there, and what they computed in."""
    profiling = options(asked)
    with tempfile.TemporaryDirectory() as folder:
        profiling.enable_profiling = True
        profiling.profile_file_prefix = str(Path(folder) / "profile")
        session = ort.InferenceSession(str(graph), sess_options=profiling, providers=providers(asked))
        confirm(session, asked)
        session.run(None, dict(feeds))
        events = json.loads(Path(session.end_profiling()).read_text())
    nodes = [
        event["args"]
        for event in events
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time") and event["args"].get("provider")
    ]
    kinds = Counter(
        _TYPES[kind]
        for node in nodes
        for kind in {kind for value in node.get("output_type_shape") or () for kind in value}
        if kind in _TYPES
    )
    return Counter((node["provider"], node["op_name"]) for node in nodes), kinds


def _by_provider(seen: Counter[tuple[str, str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for (provider, _), n in seen.items():
        total[provider] += n
    return total
