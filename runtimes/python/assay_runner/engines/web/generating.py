"""Generation in a page, by the two graphs of `cached`.

The whole loop is the page's: a call brings the prompt and gives all tokens back, and what is kept of the past stays
where the platform has it. Tokens are timed by the page's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay_runner.engines import timing
from assay_runner.engines.contract import Arrays, Asked, Placement
from assay_runner.engines.web.stages import LOGITS, PRESENT
from assay_runner.subjects.generation import NEW_TOKENS, prompted
from assay_runner.subjects.streams import Clock

from . import placing
from .backend import RUN_S, SHORT_S, PageClock, Session, seen
from .page import Page
from .rewriting import Prepared

PROMPT, STEP = "prompt", "step"


class Generating(Session):
    """Whole generations, one at a time."""

    def __init__(self, asked: Asked, page: Page, prepared: Prepared) -> None:
        super().__init__(asked, page, prepared)
        page.call("pair", SHORT_S, tokens=NEW_TOKENS)
        self._tokens = Clock()
        self.clock = TokenClock(page, self._tokens)
        self._feeds: Arrays = {}

    def _create(self, prepared: Prepared, **more: Any) -> dict[str, Any]:
        """Both graphs, one after the other: a page makes one session at a time."""
        prompt = _required(prepared)
        names = [spec["name"] for spec in prompt.exported.outputs if spec["name"] != LOGITS]
        self._once = super()._create(prompt, part=PROMPT, stays=names, **more)
        past = [name for name in names if name.startswith(PRESENT)]  # a step gives it under the same names
        return super()._create(prepared, part=STEP, stays=past, **more)

    def bind(self, feeds: Arrays) -> None:
        """The prompt, and what an encoder reads."""
        types = self._once["input_types"]
        self._feeds = {name: feeds[name].astype(dtype, copy=False) for name, dtype in types.items()}
        self._page.call("bind", SHORT_S, self._feeds)

    def outputs(self) -> dict[str, np.ndarray]:
        """Logits of each step and the ids that were chosen."""
        told, found = self._page.call("outputs", SHORT_S)
        self._heap = told.get("heap_bytes")
        return found

    def placement(self) -> Placement | None:
        """Those of a step, and of the prompt."""
        step = super().placement()
        prompt = placing.read(self._once["log"], self._asked.platform)
        return step.beside(prompt) if step and prompt else None

    def forget(self) -> None:
        """Those so far do not count."""
        self._tokens.forget()

    def generation(self) -> dict[str, Any]:
        """What the generations so far took."""
        batch, prompt = prompted(self._feeds)
        return self._tokens.report(prompt, NEW_TOKENS, batch)

    def phases(self) -> dict[str, float]:
        """What the page spent on both graphs."""
        once = self._once["phases_ms"]
        return {name: ms + once.get(name, 0.0) for name, ms in super().phases().items()}

    def facts(self) -> dict[str, Any]:
        """Those of a step, and where the past is kept."""
        facts = super().facts()
        return facts | {"engine_settings": facts["engine_settings"] | {"past_kept_at": self._created["kept_at"]}}


def _required(prepared: Prepared) -> Prepared:
    if prepared.before is None:
        raise ValueError("a generation needs the graph of its prompt")
    return prepared.before


@dataclass(frozen=True)
class TokenClock(PageClock):
    """The page's clock, which tells when each token was there too."""

    tokens: Clock = field(default_factory=Clock)

    def once(self) -> float:
        """Milliseconds of one generation."""
        return self._noted(self.page.call("run", RUN_S)[0])["ms"]

    def sample(self, rule: timing.Rule, expected_ms: float | None) -> timing.Samples:
        """The timed loop, in the page."""
        return seen(self._noted(self.sampled(rule, expected_ms)))

    def _noted(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        for stamps in told["stamps_ms"]:
            self.tokens.told(stamps)
        return told
