"""What every engine on top of ONNX Runtime shares: options, and a session whose inputs and outputs are bound.

Where a session runs on a device with its own memory, inputs are copied there when they are bound and outputs stay
there until somebody reads them: a timed run is the inference and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort

from assay_runner.engines.contract import Arrays, Asked


@dataclass(frozen=True)
class Place:
    """Where a session's inputs and outputs lie, as ONNX Runtime calls it."""

    device: str = "cpu"
    index: int = 0

    @property
    def host(self) -> bool:
        """Whether it is memory of this process."""
        return self.device == "cpu"


class Bound:
    """A session that reads its inputs where they lie; outputs are its own."""

    def __init__(self, session: ort.InferenceSession, names: Sequence[str], place: Place | None = None) -> None:
        self._session, self._names, self._place = session, list(names), place or Place()
        self._binding = session.io_binding()
        self._feeds: Arrays = {}
        self._held: list[ort.OrtValue] = []

    def bind(self, feeds: Arrays) -> None:
        """Inputs where the provider reads them, outputs where it writes them."""
        self._feeds, self._held = feeds, []  # the binding holds no reference
        for name, array in feeds.items():
            if self._place.host:
                self._binding.bind_cpu_input(name, array)
                continue
            value = ort.OrtValue.ortvalue_from_numpy(array, self._place.device, self._place.index)
            self._held.append(value)
            self._binding.bind_ortvalue_input(name, value)
        for output in self._session.get_outputs():
            self._binding.bind_output(output.name, self._place.device, self._place.index)
        self._binding.synchronize_inputs()  # the copies are done before anything is timed

    def run(self) -> None:
        """One inference, awaited."""
        self._session.run_with_iobinding(self._binding)
        if not self._place.host:
            self._binding.synchronize_outputs()

    def outputs(self) -> dict[str, np.ndarray]:
        """What the last run gave, named by position: a graph may call an output otherwise than the artefact does."""
        return dict(zip(self._names, self._binding.copy_outputs_to_cpu(), strict=True))


def options(asked: Asked) -> ort.SessionOptions:
    """A session's options, with the threads that the cell asks for."""
    made = ort.SessionOptions()
    made.log_severity_level = 3
    if asked.threads:
        made.intra_op_num_threads = asked.threads
    return made
