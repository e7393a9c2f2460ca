"""Writes a language model for OpenVINO as a stateful graph: the prompt and each later token go through it, and it keeps
its cache of past tokens itself. A model with an encoder becomes two graphs, of which the other one runs once.

transformers takes the model apart (into two: `encoder_decoder`) and folds the cache into the graph; the check continues
the same prompt on OpenVINO's CPU and compares each step with torch's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from assay_runner.engines.openvino import direct, generating
from assay_runner.engines.openvino.direct import FILE
from assay_runner.engines.openvino.generating import Encoder
from assay_runner.errors import BeyondAssay, ExportFailed, WrongExport
from assay_runner.exporting import comparison, encoder_decoder, exporters, prompts, traces, writing
from assay_runner.exporting.call import Subject
from assay_runner.exporting.graph import Graph
from assay_runner.exporting.quieting import quiet
from assay_runner.process import blame
from assay_runner.subjects import generation, streams

ENCODER = "encoder"  # the folder of the graph that runs once
_HOW = "generation on OpenVINO"
STAGE = "decode"  # the part that takes any number of new tokens after any number of past ones


def write(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.xml for a model that continues texts (`programs.continuing`), and folder/encoder/model.xml
    where the model has an encoder."""
    import openvino as ov

    model = subject.model.model
    if not model.config.is_encoder_decoder:
        prompts.refuse_others(subject.tensors, _HOW)
    try:
        with quiet():
            graph, encoder = (_two if model.config.is_encoder_decoder else _one)(model, subject, folder)
    except (BeyondAssay, ExportFailed, WrongExport):
        raise
    except Exception as error:  # noqa: BLE001 - exporters raise anything
        if blamed := blame.blamed(error):
            raise blamed from error
        place, said = traces.where(error), traces.line(error)
        raise ExportFailed(f"the model could not be written with its cache inside: {said}", place) from error
    if encoder is None:
        prompts.refuse_more(_unread(graph, subject), _HOW)
    ov.save_model(graph, folder / FILE, compress_to_fp16=False)
    check = _check(folder, subject, encoder)
    if not check["pass"]:
        raise WrongExport("the stateful graph's logits are not the model's", check["max_rel"])
    return Graph(
        file=FILE,
        opset=0,
        inputs=writing.told(subject.tensors),
        outputs=writing.told(subject.expected),
        exporter=exporters.TRANSFORMERS.name(),
        steps=[{"name": "state inside", "count": len(graph.get_variables()), "why": "the cache stays in the graph"}],
        tried=[],
        operators=dict(sorted(Counter(op.get_type_name() for op in graph.get_ops()).items())),
        check=check,
        encoder=encoder,
    )


def _unread(graph: Any, subject: Subject) -> Mapping[str, torch.Tensor]:
    """What the model reads, without what the graph of its decoding reads beside ids. What is left over, such as an
    image, would be passed over, and nothing would say so."""
    read = {name for port in graph.inputs for name in port.get_names()} - {prompts.IDS}
    return {name: t for name, t in subject.tensors.items() if name not in read}


def _one(model: PreTrainedModel, subject: Subject, _folder: Path) -> tuple[Any, None]:
    from transformers.exporters.utils import decompose_for_generation

    parts = decompose_for_generation(model, dict(subject.tensors), multi_token_decode=True)
    return _folded(*parts[STAGE]), None


def _two(model: PreTrainedModel, subject: Subject, folder: Path) -> tuple[Any, dict[str, Any]]:
    parts = encoder_decoder.parts(model, subject.tensors)
    (folder / ENCODER).mkdir()
    whole = Subject(parts.encoding, subject.tensors, {}, parts.encoded, subject.options)
    made = direct.first_good(whole, folder / ENCODER)
    graph = _folded(parts.decoding, dict(parts.step))
    return graph, {"file": f"{ENCODER}/{made.file}", "inputs": made.inputs, "outputs": made.outputs}


def _folded(part: torch.nn.Module, given: dict[str, Any]) -> Any:
    """The part as a graph, its cache inside."""
    from transformers.exporters.exporter_openvino import OpenVINOConfig, OpenVINOExporter

    return OpenVINOExporter().export(part, given, OpenVINOConfig(dynamic=True, stateful=True))


def _check(folder: Path, subject: Subject, encoder: Mapping[str, Any] | None) -> dict[str, Any]:
    import openvino as ov

    settings = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}

    def request(file: str) -> Any:
        return ov.Core().compile_model(folder / file, "CPU", settings).create_infer_request()

    once = encoder and Encoder(request(encoder["file"]), [row["name"] for row in encoder["outputs"]])
    feeds = {name: t.numpy() for name, t in subject.tensors.items()}
    new = subject.expected[generation.IDS].shape[1]
    made = generating.continued(request(FILE), once, feeds, new, streams.Clock())
    return comparison.continued(direct.version(), made, subject.expected)
