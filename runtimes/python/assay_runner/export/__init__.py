"""Writes a torch model as an ONNX graph that gives its numbers.

`to_onnx` tries one `Way` after the other (`ways`): transformers' own exporter first, torch's then; with the inputs as
they are, then with more of those as constants that only describe others (`constants`); with the kernels that the model
chose, then with the plainest it has. An exporter (`exporters`) sees a forward that gives named tensors (`subject`), in
which everything that follows from known values alone is computed and not traced (`following`), the numbers in small
buffers included (`buffers`), in which known masks are left out as in an ordinary call (`masks`), and in which functions
that exporters write as loops are made of plainer ones (`plainer`). Loops over chosen experts run over all (`mixtures`),
layers are not converted to what they are (`casts`), and as a last resort what the model decides by values is fixed to
what it is in this call (`values`); `notes` says so in the graph's steps. Which axes stay free, where any are to, is
said in `axes`.

What an exporter made gets the names of the recipe (`naming`), goes through the rewriting steps (`steps`), is written
(`writing`) and is run in ONNX Runtime against torch's outputs (`checking`). The first graph that passes is the answer;
`trying` keeps the account of those that did not, and `traces` reads out of their errors where they stopped.

`to_openvino` does the same without ONNX between (`openvino_form`), `to_openvino_narrow` for models too large for it
(`narrow_form`), and `to_program` writes what torch.export itself gives (`program_form`). A generating model
is written with its cache of past tokens inside (`stateful`), or as two graphs that hand it on: one that never leaves
the device (`cached`, `stages`, `encoder_stages`), or one that is written by place (`fixed_cache`, `slots`). What an
encoder gives is computed once (`encoder_decoder`).
`to_transformers_js` writes a folder in the layout of transformers.js (`transformers_js`, `growing`, `growing_encoder`).

What the library's exporters do beside tracing is kept short (`optimising`), by exchanging parts of it (`replacing`).

Nothing is kept between calls, and no engine stays open: caches and sessions are built around this package.
"""

from __future__ import annotations

from pathlib import Path

from assay_runner.errors import BeyondAssay
from assay_runner.export.graph import Graph, Options, opset
from assay_runner.export.subject import Subject

__all__ = [
    "Graph",
    "Options",
    "Subject",
    "opset",
    "to_onnx",
    "to_onnx_fixed_cache",
    "to_onnx_pair",
    "to_openvino",
    "to_openvino_narrow",
    "to_openvino_stateful",
    "to_program",
    "to_transformers_js",
]


def to_onnx(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.onnx for one call of a model in float32 on the CPU, which gave the expected outputs.

    Raises ExportFailed where no exporter could, and WrongExport where what they wrote computes something else.
    """
    from assay_runner.export import trying

    return trying.first_good(_of_one_call(subject), folder)


def to_openvino(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.xml straight from the torch model, as `to_onnx` does."""
    from assay_runner.export import openvino_form

    return openvino_form.first_good(_of_one_call(subject), folder)


def to_program(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.pt2, a program of torch.export, as `to_onnx` does."""
    from assay_runner.export import program_form

    return program_form.first_good(_of_one_call(subject), folder)


def to_openvino_narrow(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.xml for a model with weights of 16 bits that computes in float32 (`layered.widened`)."""
    from assay_runner.export import narrow_form

    return narrow_form.write(_of_one_call(subject), folder)


def to_onnx_fixed_cache(subject: Subject, folder: Path) -> Graph:
    """Writes folder/prefill/model.onnx and folder/decode/model.onnx for a model that continues texts."""
    from assay_runner.export import fixed_cache

    return fixed_cache.write(subject, folder)


def to_openvino_stateful(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.xml for a model that continues texts, its cache of past tokens inside."""
    from assay_runner.export import stateful

    return stateful.write(subject, folder)


def to_onnx_pair(subject: Subject, folder: Path) -> Graph:
    """Writes folder/model.onnx and folder/prompt/model.onnx for a model that continues texts, its cache of past tokens
    handed from one call to the next."""
    from assay_runner.export import cached

    return cached.write(subject, folder)


def to_transformers_js(subject: Subject, folder: Path) -> Graph:
    """Writes a folder that transformers.js loads, for one call of a model or for one that continues texts."""
    from assay_runner.export import transformers_js

    return transformers_js.write(subject, folder)


def _of_one_call(subject: Subject) -> Subject:
    """The subject, if its model is run by a single call."""
    model = subject.model
    if hasattr(model, "separate_parts"):
        raise BeyondAssay("the model is a pipeline of networks, which no single graph holds: Assay runs it whole by torch")
    if not hasattr(model, "config") or type(model).__module__.startswith("assay_runner."):
        raise BeyondAssay(
            "the model is run as several calls, which no single graph holds: "
            "Assay does not run such models as graphs yet"
        )
    return subject
