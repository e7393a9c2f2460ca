"""A model through a pipeline of transformers.js, in a page: what a web application does with it.

The pipeline runs whole, with its own build of ONNX Runtime Web. What is compared is what its model gives inside: it is
given the recipe's tensors there, or generates after the recipe's text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay_runner import generation
from assay_runner.export.transformers_js import CALL, GRAPHS
from assay_runner.generation import NEW_TOKENS, Clock, prompted

from . import web_limits
from .backend import Arrays, Asked
from .web_backend import SHORT_S, Session, created
from .web_generating import TokenClock
from .web_graph import Prepared
from .web_page import Page


class Piped(Session):
    """A pipeline."""

    def __init__(self, asked: Asked, page: Page, prepared: Prepared) -> None:
        super().__init__(asked, page, prepared)
        self._tokens = Clock()
        self.clock = TokenClock(page, self._tokens)
        self._feeds: Arrays = {}

    def _create(self, prepared: Prepared, **more: Any) -> dict[str, Any]:
        """What the page says of the pipeline that it made."""
        asked, folder = self._asked, prepared.graph.parent.parent
        self._call = json.loads((folder / CALL).read_text())
        return created(
            self._page,
            layout(folder),
            web_limits.stated(asked.dtype, prepared.graphs),
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
        return found

    def generation(self) -> dict[str, Any] | None:
        """What the generations so far took; None where nothing is generated."""
        batch, prompt = prompted(self._feeds)
        return self._tokens.report(prompt, NEW_TOKENS, batch) if self._generates() else None

    def facts(self) -> dict[str, Any]:
        """The usual ones, the library's version, and which pipeline it was."""
        facts = super().facts()
        settings = {"pipeline": self._call["task"], "compared": "what the model gives inside the pipeline"}
        return facts | {"versions": facts["versions"] | self._created["versions"], "engine_settings": settings}


def layout(folder: Path) -> dict[str, Path]:
    """The files of a folder that transformers.js may ask for, by the names that it has for them."""
    files = [*folder.glob("*.json"), *(folder / GRAPHS).iterdir()]
    return {path.relative_to(folder).as_posix(): path for path in files if path.is_file()}
