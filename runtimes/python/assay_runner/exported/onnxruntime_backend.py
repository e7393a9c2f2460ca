"""ONNX Runtime on the host's CPU, and on CUDA where the installed build has its provider."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import onnxruntime as ort

from assay_runner.errors import AbsentDevice, UnsupportedDType

from .backend import Arrays, Asked, Exported, LeftOver, Placement
from .ort_session import Bound, options
from .store import Store

PROVIDERS = {"cpu": ["CPUExecutionProvider"], "cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"]}
"""The platform → its provider, and where it puts what that one cannot run."""


class OnnxRuntime:
    """Runs graphs with the platform's provider, in float32."""

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked = asked
        if asked.dtype != "fp32":
            raise UnsupportedDType(
                f"the engine onnxruntime runs graphs in fp32 here, not in {asked.dtype}: its CPU provider has too few "
                "operators in half precision"
            )
        provider = PROVIDERS[asked.platform][0]
        if provider not in ort.get_available_providers():
            raise AbsentDevice(f"onnxruntime {ort.__version__} was built without {provider}")

    def prepare(self, exported: Exported) -> Exported:
        """The graph as it is."""
        return exported

    def compile(self, prepared: Exported) -> Session:
        """A session on the platform's provider."""
        return Session(self._asked, prepared)


class Session(Bound):
    """A session with its inputs and outputs bound."""

    evidence = ""

    def __init__(self, asked: Asked, exported: Exported) -> None:
        self._provider = PROVIDERS[asked.platform][0]
        self._exported, self._asked, self.key = exported, asked, exported.key
        session = ort.InferenceSession(
            str(exported.graph), sess_options=options(asked), providers=PROVIDERS[asked.platform]
        )
        super().__init__(session, [spec["name"] for spec in exported.outputs])

    def placement(self) -> Placement:
        """Counted by a profile of one run in a session of its own: the timed one is not slowed by it."""
        seen = _profiled(self._exported.graph, self._asked, self._feeds)
        left = Counter({key: n for key, n in seen.items() if key[0] != self._provider})
        return Placement(
            self._asked.platform,
            dict(_by_provider(seen)),
            [LeftOver(operator, n, provider) for (provider, operator), n in left.most_common()],
        )

    def facts(self) -> dict[str, Any]:
        """Version and provider."""
        return {"versions": {"onnxruntime": ort.__version__}, "provider": self._provider}


def _profiled(graph: Path, asked: Asked, feeds: Arrays) -> Counter[tuple[str, str]]:
    """(provider, operator) → how many nodes ran there."""
    profiling = options(asked)
    with tempfile.TemporaryDirectory() as folder:
        profiling.enable_profiling = True
        profiling.profile_file_prefix = str(Path(folder) / "profile")
        session = ort.InferenceSession(str(graph), sess_options=profiling, providers=PROVIDERS[asked.platform])
        session.run(None, dict(feeds))
        events = json.loads(Path(session.end_profiling()).read_text())
    return Counter(
        (event["args"]["provider"], event["args"]["op_name"])
        for event in events
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time") and event["args"].get("provider")
    )


def _by_provider(seen: Counter[tuple[str, str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for (provider, _), n in seen.items():
        total[provider] += n
    return total
