"""What every engine on top of ONNX Runtime shares: options, and a session whose inputs and outputs are bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnxruntime as ort

from .backend import Arrays, Asked


class Bound:
    """A session that reads its inputs where they lie; outputs are its own."""

    items = 1

    def __init__(self, session: ort.InferenceSession, names: Sequence[str]) -> None:
        self._session, self._names = session, list(names)
        self._binding = session.io_binding()
        self._feeds: Arrays = {}

    def bind(self, feeds: Arrays) -> None:
        """Inputs where the provider reads them."""
        self._feeds = feeds  # the binding holds no reference
        for name, array in feeds.items():
            self._binding.bind_cpu_input(name, array)
        for output in self._session.get_outputs():
            self._binding.bind_output(output.name, "cpu")

    def run(self) -> None:
        """One inference, awaited."""
        self._session.run_with_iobinding(self._binding)

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
