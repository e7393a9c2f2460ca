"""The web platforms: ONNX Runtime Web in a page of a real browser.

The page (runtimes/web/page) has the session; this is its remote control. The graph's files are named in the call that
creates it, and the program that serves the page streams them there. Everything is timed by the page's own clock, so
that the way between the two costs a result nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay_runner.engines import timing
from assay_runner.engines.contract import Arrays, Asked, Backend, Compiled, Exported, Meant, Placement
from assay_runner.engines.formats import Attempt
from assay_runner.errors import BadRecipe, BrokenDown, PageError, PageLost, RefusedGraph, TooLarge
from assay_runner.exporting import comparison
from assay_runner.exporting.store import Store
from assay_runner.subjects import generation

from . import attempts as ways
from . import dequantising, dtypes, limits, placing
from .page import Page
from .rewriting import THROUGH, Prepared, Preparing

_CREATE_S = 300.0  # ONNX Runtime never settles some graphs: every wait has an end
RUN_S = 300.0
SHORT_S = 60.0
_GPU = {"min_s": 0.2, "min_n": 3, "max_s": 3.0}  # how long the GPU's own time is looked at


class Web(Backend):
    """Runs graphs in a page."""

    @classmethod
    def attempts(cls, cell: Mapping[str, Any]) -> tuple[Attempt, ...]:
        """By a graph in ONNX, or through a library."""
        return ways.attempts(cell)

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked, self._store = asked, store
        self._held = ExitStack()  # entries stay in use for as long as the page may load them
        self._address = str(asked.options.get("page") or "")
        if not self._address:
            raise BadRecipe("the job does not say where to get a page: options.page")
        self._page: Page | None = None  # the first one, where it was asked something before there was a graph
        if dtypes.numbers(asked.dtype).needs:
            self._page = Page(self._address)
            dtypes.confirm(asked.dtype, asked.platform, self._features(self._page)["features"])

    def prepare(self, exported: Exported) -> Prepared:
        """The graph as browsers want it."""
        return Preparing(self._asked, self._store, self._held).prepared(exported)

    def compile(self, prepared: Prepared) -> Session:
        """A session in a fresh page."""
        page, self._page = self._page or Page(self._address), None
        adapter = self._features(page)["limits"] if self._asked.platform == "webgpu" else None
        limits.confirm(prepared.weights(), self._asked.dtype, prepared.graphs, adapter)
        return self._kind()(self._asked, page, prepared)

    def meant(self, prepared: Prepared, folder: Path) -> Meant | None:
        """The products with packed weights as plain ones, in float32."""
        if not dtypes.numbers(self._asked.dtype).bits or prepared.before is not None:
            return None
        names = [spec["name"] for spec in prepared.exported.outputs]
        plain = comparison.Graph(dequantising.widened(prepared.graph, folder), names, optimised=False)
        return Meant(plain.arrays, comparison.PLAINLY, rounds=bool(prepared.settings.get("accuracy_level")))

    def _features(self, page: Page) -> dict[str, Any]:
        return page.call("features", SHORT_S, platform=self._asked.platform, device=self._asked.device)[0]

    def _kind(self) -> type[Session]:
        from .generating import Generating
        from .js_pipeline import Piped

        if THROUGH in self._asked.settings:
            return Piped
        return Generating if self._asked.mode == generation.MODE else Session


class Session(Compiled):
    """A graph in a page."""

    def __init__(self, asked: Asked, page: Page, prepared: Prepared) -> None:
        self._asked, self._page, self._prepared, self.key = asked, page, prepared, prepared.key
        self._created = self._create(prepared)
        self._heap: int | None = None
        self._front: Mapping[str, Any] | None = None
        self._gpu_clock: Mapping[str, Any] | None = None
        self.evidence = "emulated" if asked.platform == "webgpu" and self._software() else ""
        self.clock = PageClock(page)

    def _create(self, prepared: Prepared, **more: Any) -> dict[str, Any]:
        """What the page says of a graph that it made."""
        asked = self._asked
        return created(
            self._page,
            prepared.files(),
            limits.stated(asked.dtype, self._prepared.graphs),
            platform=asked.platform,
            device=asked.device,
            threads=asked.threads,
            graph=prepared.graph.name,
            verbose=asked.profile,
            options={},
            warm=asked.warm,
            **more,
        )

    def bind(self, feeds: Arrays) -> None:
        """Inputs as tensors of the page, of the types that its graph has; raw ones as they are."""
        types, front = self._created["input_types"], self._prepared.exported.front_end
        raw = front["input"] if front else None
        fitted = {name: a if name == raw else a.astype(types[name], copy=False) for name, a in feeds.items()}
        told, _ = self._page.call("bind", SHORT_S, fitted, front_end=front, tuned=self._page.tuned)
        self._front = told.get("front_end")

    def run(self) -> None:
        """One inference, awaited."""
        self.clock.once()

    def outputs(self) -> dict[str, np.ndarray]:
        """What the last run gave, by position: the session's names are the graph's own."""
        told, found = self._page.call("outputs", SHORT_S)
        self._heap = told.get("heap_bytes")
        names = [spec["name"] for spec in self._prepared.exported.outputs]
        return dict(zip(names, (found[name] for name in self._created["outputs"]), strict=True))

    def placement(self) -> Placement | None:
        """As ONNX Runtime told when it made the session."""
        return placing.read(self._created["log"], self._asked.platform)

    def device_ms(self) -> list[float] | None:
        """What the GPU itself took for each of some runs, which are not timed otherwise: its clock is in their way."""
        if self._asked.platform != "webgpu":
            return None
        told, _ = self._page.call("gpu", RUN_S, **_GPU)
        self._gpu_clock = {name: told[name] for name in ("passes", "step_ms", "why")}
        return told["ms"]

    def memory(self) -> dict[str, int | None]:
        """Of the browser's processes, where they are this cell's alone; this process holds no model."""
        return {"host_baseline_bytes": None, "host_peak_bytes": self._page.peak_bytes()}

    def phases(self) -> dict[str, float]:
        """What the page spent on starting, in ms: parts of the phase `compile`."""
        return dict(self._created["phases_ms"])

    def facts(self) -> dict[str, Any]:
        """The browser, its adapter, and ONNX Runtime's build in it."""
        asked, created, about, hello = self._asked, self._created, self._page.about, self._page.hello
        return {
            "versions": {"onnxruntime-web": created.get("version", ""), about["browser"]: about["version"]},
            "browser": {
                "name": about["browser"],
                "version": about["version"],
                "software": about["software"],
                **{name: hello[name] for name in ("user_agent", "isolated", "cores")},
                **{name: created[name] for name in ("threads", "build", "adapter", "device_features")},
                "f16": asked.dtype == "fp16",
                "heap_bytes": self._heap,
                "gpu_clock": self._gpu_clock,
                "steps": [step["name"] for step in self._prepared.steps],
            },
            "engine_settings": self._settings(),
        }

    def _settings(self) -> dict[str, str]:
        """What was set, as words, and who makes the input where there is a front end."""
        told = {name: str(value) for name, value in self._prepared.settings.items()}
        if front := self._front:
            sizes = ", ".join(f"{kernel} {size}" for kernel, size in (front["workgroups"] or {}).items())
            told["front_end"] = f"{front['kind']} by {front['by']}" + (f", workgroups of {sizes}" if sizes else "")
        return told

    def _software(self) -> bool:
        """By the browser's own word; what an adapter's name tells, detection has told."""
        return bool(self._page.about.get("software") or (self._created["adapter"] or {}).get("fallback"))


def created(page: Page, files: Mapping[str, Path], fits: str, op: str = "create", **asked: Any) -> dict[str, Any]:
    """What the page says of the session it made. A graph that it cannot take is refused, as by every other engine; one
    that it has no memory for with the words of what fits."""
    held = sum(path.stat().st_size for path in files.values())
    loaded = f", while it loaded {held / 1e9:.1f} GB; {fits}" if held >= _MUCH_BYTES else ""
    try:
        return page.call(op, _CREATE_S, files=files, **asked)[0]
    except PageError as error:
        if _MEMORY.search(str(error)):
            raise TooLarge(f"the page ran out of memory: {error}; {fits}") from error
        if _TRAP.search(str(error)):
            raise BrokenDown(f"ONNX Runtime Web broke down in WebAssembly: {error}{loaded}") from error
        raise RefusedGraph(f"ONNX Runtime Web refuses the graph: {error}") from error
    except PageLost as error:  # a renderer that gets no memory ends without a word
        raise PageLost(f"{error}{loaded}") from error


_MUCH_BYTES = 500_000_000  # of weights: a page that ends over fewer has another reason

_MEMORY = re.compile(r"(?i)out of memory|allocation failed|bad_alloc|2 GB that an array")

_TRAP = re.compile(r"RuntimeError: .*(out of bounds|unreachable|signature mismatch|divide by zero)")
"""What WebAssembly says where its code goes wrong, which is an error of the engine's and says nothing about memory."""


def seen(told: Mapping[str, Any]) -> timing.Samples:
    """What a page tells of a timed loop."""
    return timing.Samples(told["ms"], None, None, told["hidden"])


@dataclass(frozen=True)
class PageClock:
    """The page's clock."""

    page: Page

    def once(self) -> float:
        """Milliseconds of one inference."""
        told, _ = self.page.call("run", RUN_S)
        return told["ms"]

    def warm_up(self, rule: timing.Rule) -> timing.Warmup:
        """Calls until times are stable."""
        return timing.warmed(self.once, rule)

    def sample(self, rule: timing.Rule, expected_ms: float | None) -> timing.Samples:
        """The timed loop, in the page."""
        return seen(self.sampled(rule, expected_ms))

    def sampled(self, rule: timing.Rule, expected_ms: float | None) -> dict[str, Any]:
        """What the page tells of a timed loop."""
        limit = rule.max_s + 10 * (expected_ms or 0.0) / 1e3 + RUN_S
        return self.page.call("sample", limit, min_s=rule.min_s, min_n=rule.min_n, max_s=rule.max_s)[0]
