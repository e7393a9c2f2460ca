"""Models that are timed at the same time, each in a child of its own: they meet before the first sample, and each goes
on, unmeasured, until the last has all of its own. They know each other by files in one folder, so that any engine may
be beside any other. A member that is lost ends the others' wait; nobody waits for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay_runner.errors import LostCompany

LOST = "lost"
_ASK_S = 0.002


@dataclass(frozen=True)
class Company:
    """Those with whom a job is timed; a folder of None is nobody."""

    folder: Path | None = None
    members: int = 1
    index: int = 0
    wait_s: float = 120.0

    @staticmethod
    def of(job: Mapping[str, Any]) -> Company:
        """The company that a job's options name."""
        told = (job.get("options") or {}).get("company")
        if not told:
            return Company()
        wait = float(told.get("wait_s") or Company.wait_s)
        return Company(Path(told["folder"]), int(told["members"]), int(told["index"]), wait)

    def meet(self, call: Callable[[], Any]) -> None:
        """Waits until all are warm. Those that are ready stay warm meanwhile: they go on calling."""
        self._until_all("warm", call, required=True)

    def linger(self, call: Callable[[], Any]) -> None:
        """Goes on until all have their samples, so that the last is not alone."""
        self._until_all("done", call, required=False)

    def _until_all(self, stage: str, call: Callable[[], Any], required: bool) -> None:
        if self.folder is None:
            return
        (self.folder / f"{stage}.{self.index}").touch()
        until = time.monotonic() + self.wait_s
        while not all((self.folder / f"{stage}.{i}").exists() for i in range(self.members)):
            lost = (self.folder / LOST).exists()
            if lost or time.monotonic() > until:
                if required:
                    why = "ended" if lost else f"was not ready within {self.wait_s:g} s"
                    raise LostCompany(f"a model that was to run at the same time {why}")
                return
            call()
            time.sleep(_ASK_S)
