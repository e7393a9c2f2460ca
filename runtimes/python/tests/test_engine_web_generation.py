"""Generation in a page: what is asked of it, with ONNX Runtime's CPU in the page's place."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import torch_recipes
from torch_emit import Emit, job
from transformers import AutoTokenizer, MambaConfig, MambaForCausalLM

from assay_runner.engines.graphs import driver
from assay_runner.engines.torch import engine
from assay_runner.engines.web import cached, encoder_stages, growing, page, stages
from assay_runner.errors import BeyondAssay, ExportFailed, UnsupportedDType
from assay_runner.exporting import prompts
from assay_runner.subjects import generation

NEW = generation.NEW_TOKENS
TYPES = {"tensor(int32)": "int32", "tensor(int64)": "int64", "tensor(float)": "float32"}


class Session(onnxruntime.InferenceSession):
    """A session that takes whole numbers of any width, as a page's loop makes them of the width that is asked for."""

    def run(self, names, feeds):
        types = {given.name: TYPES[given.type] for given in self.get_inputs()}
        return super().run(names, {name: array.astype(types[name]) for name, array in feeds.items()})


class Page(BaseHTTPRequestHandler):
    """A page's side, on this machine's CPU: it keeps what it was asked, and does it."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        if self.path.endswith("/page"):
            about = {"browser": "none", "version": "1", "software": False}
            hello = {"user_agent": "none", "isolated": True, "cores": 1}
            self._send(json.dumps({"about": about, "hello": hello}).encode())
            return
        header, arrays = page.decode(body)
        self.server.asked.append(header)
        self._send(page.encode(*getattr(self, header["op"])(header, arrays)))

    def do_GET(self) -> None:
        self._send(json.dumps({"peak_bytes": 0, "alone": False}).encode())

    def create(self, header, _):
        session = Session(header["files"][header["graph"]], providers=["CPUExecutionProvider"])
        self.server.sessions[header["part"]] = session
        types = {given.name: TYPES[given.type] for given in session.get_inputs()}
        told = {
            "input_types": types,
            "outputs": [],
            "log": [],
            "adapter": None,
            "device_features": None,
            "build": "",
            "threads": 1,
            "version": "1",
        }
        return told | {"phases_ms": {"create": 1.5}, "kept_at": "cpu"}, {}

    def pair(self, header, _):
        assert header["tokens"] == NEW
        return {}, {}

    def pipeline(self, header, _):
        self.server.folder = Path(header["files"]["config.json"]).parent
        self.server.sessions["whole"] = Session(header["files"]["onnx/model.onnx"], providers=["CPUExecutionProvider"])
        told = {"log": [], "adapter": None, "device_features": None, "build": "transformers.js", "threads": 1}
        told |= {"phases_ms": {"create": 1.5}}
        return told | {"versions": {"transformers.js": "4", "onnxruntime-web": "1"}}, {}

    def bind(self, _, arrays):
        self.server.given = arrays
        return {}, {}

    def run(self, *_):
        sessions, given = self.server.sessions, self.server.given
        if "whole" in sessions:
            self.server.made = growing.continued(sessions["whole"], given["input_ids"], NEW)
        else:
            self.server.made = cached.Pair(sessions["prompt"], sessions["step"]).continued(given, NEW)
        return {"ms": 40.0, "stamps_ms": [[100.0, 110.0, *(112.0 + 2 * i for i in range(NEW - 1))]]}, {}

    def outputs(self, *_):
        server = self.server
        if "whole" not in server.sessions:
            return {"heap_bytes": 7}, server.made
        words = AutoTokenizer.from_pretrained(server.folder)  # a pipeline gives a text
        ids, new = server.given["input_ids"], server.made["generated"]
        text = words.decode([*ids[0], *new[0]])[len(words.decode(ids[0])) :]
        told = {"heap_bytes": 7, "result": [{"generated_text": text}]}
        return told, {**server.made, "made:input_ids": ids}

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    made.sessions, made.asked, made.made, made.given = {}, [], {}, {}
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def generated(server, exports, recipe, **cell):
    where = {"platform": "webnn", "engine": "ort-web", "mode": "generate"}
    options = {"exports": exports, "page": f"http://127.0.0.1:{server.server_port}/visits/x"}
    emit = Emit()
    driver.run(job(recipe, "check", **where, **cell) | {"options": options}, emit)
    return emit.reports[0]


def test_a_page_generates_what_torch_does(server, exports):
    report = generated(server, exports, torch_recipes.LLAMA)
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    told = report["generation"]
    assert (told["agreed_tokens"], told["prompt_tokens"]) == (NEW, 16)
    assert told["streams_ms"][0][:3] == [10.0, 12.0, 14.0]  # the page's clock
    assert report["context"]["engine_settings"] == {"past_kept_at": "cpu"}
    assert report["phases_ms"]["create"] == 3.0  # of both graphs
    first, second, *damaged = (header for header in server.asked if header["op"] == "create")
    assert (first["part"], second["part"]) == ("prompt", "step")
    assert report["numerics"]["control"]["where"] == "engine"
    assert [header["part"] for header in damaged] == ["prompt", "step"]  # of the damaged model, in a page of its own
    assert first["stays"] == second["stays"] == [f"present_{i}_{what}" for i in (0, 1) for what in ("keys", "values")]


def test_weights_of_four_bits_generate_too(server, exports):
    report = generated(server, exports, torch_recipes.LLAMA, dtype="w4")
    assert report["context"]["engine_settings"] | {"past_kept_at": "cpu"} == {
        "past_kept_at": "cpu",
        "bits": "4",
        "bits_of_ends": "8",
        "block_size": "32",
        "accuracy_level": "0",
    }
    assert report["numerics"]["snr_db"] is not None
    assert report["numerics"]["least_snr_db"] == 20
    graphs = [next(iter(header["files"].values())) for header in server.asked if header["op"] == "create"]
    for path in graphs:
        assert b"MatMulNBits" in Path(path).read_bytes()


def test_a_pipeline_generates_what_torch_does(server, exports):
    report = generated(server, exports, torch_recipes.LLAMA, via="transformers.js")
    assert report["numerics"]["pass"], report["numerics"]
    assert report["generation"]["agreed_tokens"] == NEW
    assert report["generation"]["streams_ms"][0][:3] == [10.0, 12.0, 14.0]
    assert [row["pass"] for row in report["numerics"]["around"]] == [True, True]  # its ids, and its words
    assert report["context"]["engine_settings"]["pipeline"] == "text-generation"
    assert report["context"]["versions"]["transformers.js"] == "4"
    assert report["export"]["via"] == "transformers.js"
    (asked,) = (header for header in server.asked if header["op"] == "pipeline")
    assert {"config.json", "tokenizer.json", "onnx/model.onnx"} <= set(asked["files"])
    assert (asked["tokens"], asked["call"]["task"]) == (NEW, "text-generation")


def test_a_library_has_its_own_dtypes(server, exports):
    with pytest.raises(UnsupportedDType, match=r"through transformers\.js in fp32"):
        generated(server, exports, torch_recipes.LLAMA, via="transformers.js", dtype="w8")


def test_an_encoders_keys_and_values_stay_where_the_past_does(server, exports):
    report = generated(server, exports, torch_recipes.WHISPER)
    assert report["numerics"]["pass"], report["numerics"]
    assert report["generation"]["agreed_tokens"] == NEW
    first, second, *_damaged = (header for header in server.asked if header["op"] == "create")
    past = [name for name in first["stays"] if name.startswith("present_")]
    assert second["stays"] == past != []
    assert {name.partition("_")[0] for name in first["stays"]} == {"present", "cross"}  # and nothing that no step reads


def test_an_image_goes_with_the_prompt(server, exports, catalogue):
    report = generated(server, exports, catalogue["llava"])
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"]
    assert report["generation"]["agreed_tokens"] == NEW
    first, second = ({i.name for i in server.sessions[part].get_inputs()} for part in ("prompt", "step"))
    assert "pixel_values" in first - second


def test_an_image_in_another_prompt_changes_what_is_chosen(catalogue):
    """An image that no graph read would change nothing."""
    session = engine.Session(job(catalogue["llava"], mode="generate"), Emit())
    given, model = session.inputs({"batch": 1}), session.built().model.model
    parts = stages.of_text(model, given, 4)
    other = stages.ran(parts.prompt, {**parts.given, "pixel_values": -parts.given["pixel_values"]})
    assert (other["logits"] - parts.opened["logits"]).abs().max() > 1e-3


def test_what_does_not_begin_with_a_text_alone_is_refused(catalogue):
    with pytest.raises(BeyondAssay, match="this model begins with pixel_values"):
        stages.of_text(None, {"pixel_values": torch.ones(1, 3, 8, 8)}, 4)
    session = engine.Session(job(catalogue["git"], mode="generate"), Emit())
    with pytest.raises(BeyondAssay, match="this model keeps 33 places for 16 words"):
        stages.of_text(session.built().model.model, session.inputs({"batch": 1}), 4)
    with pytest.raises(BeyondAssay, match="this one reads pixel_values too"):
        prompts.refuse_more({"input_ids": torch.ones(1), "pixel_values": torch.ones(1)}, "it")


def test_a_token_is_written_to_its_place():
    past = torch.zeros(1, 2, 5, 3)
    layer = encoder_stages.Slots(torch.tensor(2), past, past)
    keys, values = layer.update(torch.ones(1, 2, 1, 3), torch.full((1, 2, 1, 3), 2.0))
    assert keys[0, 0, :, 0].tolist() == [0, 0, 1, 0, 0]
    assert values[0, 1, :, 2].tolist() == [0, 0, 2, 0, 0]
    assert (layer.get_seq_length(), layer.get_mask_sizes(1)) == (2, (5, 0))


def test_a_past_of_another_kind_is_refused():
    """A state-space model has no keys and values."""
    config = MambaConfig(vocab_size=32, hidden_size=16, num_hidden_layers=1, state_size=4)
    with pytest.raises(ExportFailed, match="keeps more of the past"):
        stages.Prompt(MambaForCausalLM(config), words=4, slots=8)(input_ids=torch.ones(1, 4, dtype=torch.long))


def test_empty_slots_are_hidden_and_the_token_knows_its_place():
    given = stages.beside(np.asarray([[5], [6]]), before=3, slots=6)
    assert given["seen"].tolist() == [[0, 0, 0, 1, 1, 1, 1]] * 2
    assert given["place"].tolist() == [[3], [3]]
    assert given["token"].tolist() == [[5], [6]]
