"""The web platforms: ONNX Runtime Web in a page of a real browser.

The page (runtimes/web/page) has the session; this is its remote control. The graph's files are named in the call that
creates it, and the program that serves the page streams them there. Everything is timed by the page's own clock, so
that the way between the two costs a result nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir

from assay_runner import generation, timing
from assay_runner.errors import BadRecipe, PageError, RefusedGraph, TooLarge, UnsupportedDType
from assay_runner.export import writing
from assay_runner.export.steps import dead

from . import web_dtypes, web_integers, web_placement, web_steps
from .backend import Arrays, Asked, Exported, Placement
from .store import Store, code_of, key_of
from .web_page import Page

WIDE = "WIDE_INTEGERS"
"""The setting of an attempt that leaves whole numbers their 64 bits."""

THROUGH = "THROUGH"
"""The setting of an attempt that names a library which runs the model: the graph stays as that one expects it."""

_CREATE_S = 300.0  # ONNX Runtime never settles some graphs: every wait has an end
RUN_S = 300.0
SHORT_S = 60.0


class Web:
    """Runs graphs in a page."""

    def __init__(self, asked: Asked, store: Store) -> None:
        self._asked, self._store = asked, store
        self._held = ExitStack()  # entries stay in use for as long as the page may load them
        self._address = str(asked.options.get("page") or "")
        if not self._address:
            raise BadRecipe("the job does not say where a page is to be had: options.page")
        self._page: Page | None = None  # the first one, where it was asked something before there was a graph
        self._numbers = web_dtypes.numbers(asked.dtype)
        if self._numbers.needs:
            self._page = Page(self._address)
            told, _ = self._page.call("features", SHORT_S, platform=asked.platform, device=asked.device)
            web_dtypes.confirm(asked.dtype, asked.platform, told["features"])

    def prepare(self, exported: Exported) -> Prepared:
        """The graph as browsers want it."""
        if THROUGH in self._asked.settings:
            return self._as_it_is(exported)

        def make(folder: Path) -> dict[str, Any]:
            model = onnx_ir.load(exported.graph)
            done = web_steps.apply(model, whole)
            if done or converted:  # else the graph is used where it lies
                dead.remove(model)
                writing.write(web_dtypes.convert(model, self._asked.dtype), folder)
            return facts | {"steps": done}

        whole, converted = self._asked.settings.get(WIDE) is None, self._numbers.convert is not None
        code = (web_steps, web_integers, web_dtypes)
        facts = {"kind": "web-graph", "of": exported.key, "whole": whole, "code": code_of(*code)}
        if converted:
            facts |= {"dtype": self._asked.dtype, "settings": dict(self._numbers.settings), **web_dtypes.versions()}
        entry = self._held.enter_context(self._store.entry("web-graph", key_of(facts), make))
        done = entry.manifest["steps"]
        graph = entry.path(writing.FILE) if done or converted else exported.graph
        before = exported.encoder and self.prepare(exported.encoder)
        return Prepared(exported, entry.manifest["key"], graph, done, self._numbers.settings, before)

    def _as_it_is(self, exported: Exported) -> Prepared:
        if self._asked.dtype != "fp32":
            through = self._asked.settings[THROUGH]
            raise UnsupportedDType(f"models go through {through} in fp32 here, not in {self._asked.dtype}")
        return Prepared(exported, exported.key, exported.graph, (), {})

    def compile(self, prepared: Prepared) -> Session:
        """A session in a fresh page."""
        page, self._page = self._page or Page(self._address), None
        return self._kind()(self._asked, page, prepared)

    def _kind(self) -> type[Session]:
        from .web_generating import Generating
        from .web_pipeline import Piped

        if THROUGH in self._asked.settings:
            return Piped
        return Generating if self._asked.mode == generation.MODE else Session


@dataclass(frozen=True)
class Prepared:
    """A graph for browsers: its file, its key, what was done to it, and with which settings its weights were kept."""

    exported: Exported
    key: str
    graph: Path
    steps: Sequence[Mapping[str, Any]]
    settings: Mapping[str, int]
    before: Prepared | None = None  # of generation, the graph that runs once

    def files(self) -> dict[str, Path]:
        """The graph's own file and the weights beside it, by the names that it knows them under."""
        return {path.name: path for path in self.graph.parent.iterdir() if _of_graph(path, self.graph)}


class Session:
    """A graph in a page."""

    items = 1

    def __init__(self, asked: Asked, page: Page, prepared: Prepared) -> None:
        self._asked, self._page, self._prepared, self.key = asked, page, prepared, prepared.key
        self._created = self._create(prepared)
        self._heap: int | None = None
        self._front: Mapping[str, Any] | None = None
        self.evidence = "emulated" if asked.platform == "webgpu" and self._software() else ""
        self.clock = PageClock(page)

    def _create(self, prepared: Prepared, **more: Any) -> dict[str, Any]:
        """What the page says of a graph that it made."""
        asked = self._asked
        return created(
            self._page,
            prepared.files(),
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
        return web_placement.read(self._created["log"], self._asked.platform, self._asked.device)

    def memory(self) -> dict[str, int | None]:
        """Of the browser's processes, where they are this cell's alone; this process holds no model."""
        return {"host_baseline_bytes": None, "host_peak_bytes": self._page.peak_bytes()}

    def phases(self) -> dict[str, float]:
        """What the page spent on starting, in ms: parts of the phase `compile`."""
        return dict(self._created["phases_ms"])

    def facts(self) -> dict[str, Any]:
        """The browser, its adapter, and ONNX Runtime's build in it."""
        created, about, hello = self._created, self._page.about, self._page.hello
        return {
            "versions": {"onnxruntime-web": created.get("version", ""), about["browser"]: about["version"]},
            "browser": {
                "name": about["browser"],
                "version": about["version"],
                "software": about["software"],
                **{name: hello[name] for name in ("user_agent", "isolated", "cores")},
                **{name: created[name] for name in ("threads", "build", "adapter")},
                "heap_bytes": self._heap,
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
        adapter = self._created["adapter"] or {}
        return bool(self._page.about.get("software") or adapter.get("fallback") or _by_name(adapter))


def created(page: Page, files: Mapping[str, Path], op: str = "create", **asked: Any) -> dict[str, Any]:
    """What the page says of the session it made. A graph that it cannot take is refused, as by every other engine."""
    try:
        return page.call(op, _CREATE_S, files=files, **asked)[0]
    except PageError as error:
        if _MEMORY.search(str(error)):
            raise TooLarge(f"the page ran out of memory: {error}") from error
        raise RefusedGraph(f"ONNX Runtime Web refuses the graph: {error}") from error


_MEMORY = re.compile(r"(?i)out of memory|allocation failed|bad_alloc|2 GB that an array|memory access out of bounds")

_SOFTWARE = ("swiftshader", "llvmpipe", "lavapipe", "warp", "basic render", "softpipe")


def _name(adapter: Mapping[str, Any]) -> str:
    words = (str(adapter.get(name) or "") for name in ("vendor", "architecture", "device", "description"))
    return " ".join(word for word in words if word)


def _by_name(adapter: Mapping[str, Any]) -> bool:
    return any(name in _name(adapter).lower() for name in _SOFTWARE)


def _of_graph(path: Path, graph: Path) -> bool:
    """The graph's own file and the weights beside it."""
    return path == graph or path.name.startswith(graph.name + ".") or path.suffix == ".data"


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
        return timing.Samples(self.sampled(rule, expected_ms)["ms"], None, None)

    def sampled(self, rule: timing.Rule, expected_ms: float | None) -> dict[str, Any]:
        """What the page tells of a timed loop."""
        limit = rule.max_s + 10 * (expected_ms or 0.0) / 1e3 + RUN_S
        return self.page.call("sample", limit, min_s=rule.min_s, min_n=rule.min_n, max_s=rule.max_s)[0]
