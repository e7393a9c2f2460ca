"""The names that libraries do not promise to keep and that Assay uses anyway, in one table.

Each may be gone in any release. What then breaks is Assay's, not the model's (`blame`). So an environment is asked
for them when it is made and when it is opened, and what it lacks is among its facts. Nothing is imported for
that, since torch takes seconds: the files of the installed libraries are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Name:
    """A name in a module of a library."""

    module: str
    name: str  # "" is the module itself
    used: str  # by which modules of this package, and what for

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


NAMES = (
    Name("torch._decomp", "get_decompositions", "engines/coreml/converting: operators that Core ML lacks"),
    Name("torch._dynamo", "", "engines/preimporting: what writing a graph imports"),
    Name("torch._ops", "OpOverload", "facts, derive, engines/coreml/converting: what an operator is"),
    Name("torch._subclasses.fake_tensor", "FakeTensor", "exporting/following, facts/hollow: tensors without numbers"),
    Name("torch._subclasses.fake_tensor", "FakeTensorMode", "facts/hollow: a model without its memory"),
    Name("torch._C._functorch", "is_functorch_wrapped_tensor", "exporting/following: what a trace wraps"),
    Name("torch.nn.modules.module", "_apply", "exporting/casts: conversions that change nothing"),
    Name("torch.onnx._internal.exporter._core", "", "engines/preimporting: what writing a graph imports"),
    Name("torch.onnx._internal.exporter._registration", "ONNXRegistry", "exporting, derive/listed: operators"),
    Name("torch.onnx._internal.exporter._registration", "onnxscript_apis", "exporting: operators, read once"),
    Name("torch.storage", "UntypedStorage", "subjects/weights: storage that nothing else knows"),
    Name("torch.utils._python_dispatch", "TorchDispatchMode", "facts, subjects, checking: calls"),
    Name("torch.utils._python_dispatch", "_disable_current_modes", "exporting: calls unseen"),
    Name("torch.utils._pytree", "tree_flatten", "exporting/following, exporting/values: leaves of arguments"),
    Name("onnxscript.rewriter", "_DEFAULT_REWRITE_RULES", "exporting/optimising: rules that take long"),
    Name("onnxscript.rewriter._matcher", "math", "exporting/optimising: nothing but zero is zero"),
    Name("transformers.cache_utils", "DynamicLayer", "engines/qnn/slots, engines/web/encoder_stages: what a past is"),
    Name("transformers.exporters.exporter_onnx", "OnnxExporter", "exporting/exporters: transformers' own exporter"),
    Name("transformers.exporters.exporter_openvino", "OpenVINOExporter", "engines/openvino: its own form"),
    Name("transformers.exporters.exporter_dynamo", "DynamoExporter", "engines/coreml/program: Core ML"),
    Name("transformers.exporters.utils", "decompose_for_generation", "engines/graphs/parts: prompt and step"),
    Name("transformers.exporters.utils", "precompute_export_inputs", "exporting/exporters: no inputs of its own"),
    Name("transformers.exporters.utils", "module_dtype", "exporting/exporters: inputs stay as they are"),
    Name("transformers.exporters.utils", "_PATCHES", "exporting/exporters: patches that are wrong"),
    Name("transformers.masking_utils", "is_torchdynamo_exporting", "exporting/masks: masks that hide nothing"),
    Name("transformers.masking_utils", "is_tracing", "exporting/masks: masks that hide nothing"),
    Name("transformers.masking_utils", "ALL_MASK_ATTENTION_FUNCTIONS", "exporting/masks: masks that are traced"),
    Name("transformers.vision_utils", "_interpolation_axis_taps_weights", "exporting/grids: positions between others"),
)


def missing() -> dict[str, str]:
    """The names that the installed libraries lack, and what they are used for. A library that is not installed lacks
    no names: that it is not there is told elsewhere."""
    return {str(name): name.used for name in NAMES if (at := _root(name)) is not None and not _there(name, at)}


def _root(name: Name) -> Path | None:
    """The folder of the library."""
    found = find_spec(name.module.partition(".")[0])
    places = list(found.submodule_search_locations or ()) if found else []
    return Path(places[0]) if places else None


def _there(name: Name, root: Path) -> bool:
    inner = root.joinpath(*name.module.split(".")[1:])
    files = (inner.with_suffix(".py"), inner / "__init__.py", inner.with_suffix(".pyi"), inner / "__init__.pyi")
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]
    return any(not name.name or _binds(text, name.name) for text in texts)


def _binds(text: str, name: str) -> bool:
    """Whether a module defines, assigns or imports a name, at whatever depth."""
    word = rf"(?<![\w.]){re.escape(name)}(?!\w)"
    lines = (
        rf"^\s*(?:async\s+)?(?:def|class)\s+{word}",
        rf"^\s*{word}\s*(?::[^=\n]+)?=",
        rf"^\s*(?:from\s+\S+\s+)?import\b.*{word}",
        rf"^\s+{word}\s*,?\s*(?:#.*)?$",  # one of several names of an import, a line each
    )
    return any(re.search(line, text, re.MULTILINE) for line in lines)
