"""A model through a pipeline of transformers.js, in a page: what a web application does with it.

The pipeline runs whole, with its own build of ONNX Runtime Web. Its model is given the recipe's tensors inside, or
generates after the recipe's text, and is compared as everywhere; what the pipeline makes before and after it is
compared with transformers (`around`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay_runner.engines.contract import Arrays, Asked
from assay_runner.engines.web.transformers_js import CALL, DECODED, GRAPHS
from assay_runner.subjects import generation
from assay_runner.subjects.generation import NEW_TOKENS, prompted
from assay_runner.subjects.streams import Clock

from . import around, limits
from .backend import SHORT_S, Session, created
from .generating import TokenClock
from .page import Page
from .rewriting import Prepared

_MADE, _RESULT = "made:", "result:"
"""Before the names of tensors that the pipeline made for its model, and of the one that it gives."""


class Piped(Session):
    """A pipeline."""

    def __init__(self, asked: Asked, page: Page, prepared: Prepared) -> None:
        super().__init__(asked, page, prepared)
        self._tokens = Clock()
        self.clock = TokenClock(page, self._tokens)
        self._feeds: Arrays = {}
        self._made: Arrays = {}
        self._result: Any = None

    def _create(self, prepared: Prepared, **more: Any) -> dict[str, Any]:
        """What the page says of the pipeline that it made."""
        asked, folder = self._asked, prepared.graph.parent.parent
        self._call = json.loads((folder / CALL).read_text())
        return created(
            self._page,
            layout(folder),
            limits.stated(asked.dtype, prepared.graphs),
            op="pipeline",
            platform=asked.platform,
            device=asked.device,
            threads=asked.threads,
            verbose=asked.profile,
            call=self._call,
            tokens=NEW_TOKENS if self._generates() else 0,
            **more,
        )

    def _generates(self) -> bool:
        return self._asked.mode == generation.MODE

    def bind(self, feeds: Arrays) -> None:
        """What the model is given in place of what the pipeline makes; a generation has its text."""
        self._feeds = feeds
        self._page.call("bind", SHORT_S, feeds)

    def outputs(self) -> dict[str, np.ndarray]:
        """What the model gave inside the pipeline."""
        told, found = self._page.call("outputs", SHORT_S)
        self._heap = told.get("heap_bytes")
        inside = {name: array for name, array in found.items() if not name.startswith((_MADE, _RESULT))}
        self._made = {name.removeprefix(_MADE): a for name, a in found.items() if name.startswith(_MADE)}
        self._result = found.get(_RESULT, told.get("result"))
        return inside

    def around(self, found: Arrays) -> list[dict[str, Any]]:
        """What the pipeline made by itself in the last run, whose model gave this."""
        folder = self._prepared.graph.parent.parent
        return around.rows(around.Ran(folder, self._call, self._feeds, self._made, found, self._result))

    def forget(self) -> None:
        """Those so far do not count."""
        self._tokens.forget()

    def generation(self) -> dict[str, Any] | None:
        """What the generations so far took; None where nothing is generated."""
        batch, prompt = prompted(self._feeds)
        return self._tokens.report(prompt, NEW_TOKENS, batch) if self._generates() else None

    def facts(self) -> dict[str, Any]:
        """The usual ones, the library's version, and which pipeline it was."""
        facts = super().facts()
        settings = {"pipeline": self._call["task"]}
        if DECODED in self._call:
            settings["cross_attention"] = "keys and values recomputed for each token"
        return facts | {"versions": facts["versions"] | self._created["versions"], "engine_settings": settings}


def layout(folder: Path) -> dict[str, Path]:
    """The files of a folder that transformers.js may ask for, by the names that it has for them."""
    files = [*folder.glob("*.json"), *(folder / GRAPHS).iterdir()]
    return {path.relative_to(folder).as_posix(): path for path in files if path.is_file()}
