"""The package assay on exported graphs: OpenVINO, and QNN in Qualcomm's emulator."""

import gc
import os
import weakref

import numpy as np
import pytest

import assay
from assay import on_graph
from assay_runner.engines.formats import ONNX
from assay_runner.engines.graphs import artefact
from assay_runner.exporting.store import Entry

SOUND = np.sin(np.arange(16000) / 20).astype(np.float32)
PICTURE = np.random.default_rng(0).integers(0, 255, (50, 70, 3)).astype(np.uint8)


@pytest.fixture(autouse=True)
def home(exports, monkeypatch):
    """Graphs go to the store that the other tests of exporters share."""
    monkeypatch.setattr(on_graph, "exports", lambda: exports)


@pytest.fixture(scope="module")
def bert():
    with assay.load("bert", "cpu") as model:
        yield model


def close(found, expected, most):
    return np.abs(found - expected).max() <= most * np.abs(expected).max()


@pytest.mark.parametrize(("platform", "most"), [("openvino", 1e-4), ("qnn", 2e-2)])
def test_the_same_as_on_the_cpu(bert, platform, most):
    with assay.load("bert", platform, fallback=False) as model:
        said = model.settings()
        assert (said["platform"], said["fallback"], said["parameters"]) == (platform, [], bert.settings()["parameters"])
        assert platform in said["versions"]
        found, expected = (one.run(**one.example())["logits"] for one in (model, bert))
        assert close(found, expected, most)
        rows, wanted = model.run("some text"), bert.run("some text")
        assert [row["id"] for row in rows] == [row["id"] for row in wanted]
        assert model.batch(["one", "two"])[1] == model.run("two")
        assert len(model._engine._inferring.running) == 1  # the texts had one length: nothing was compiled again
        given = model.example(2)
        assert close(model.run(**given)["logits"], bert.run(**given)["logits"], most)
        with pytest.raises(assay.BadInput, match="no input token_type_ids"):
            model.run(**given, token_type_ids=given["input_ids"])
        with pytest.raises(assay.BadInput, match="attention_mask has shape"):
            model.run(input_ids=given["input_ids"], attention_mask=given["attention_mask"][:, :4])
        (running, _) = model._engine._inferring.running.values()
        inside = weakref.ref(running.compiled)
        del running, _
    gc.collect()
    assert inside() is None
    with pytest.raises(assay.Released):
        model.run("some text")


def test_an_emulator_is_told(bert):
    with assay.load("bert", "qnn") as model:
        assert model.settings()["software"] is (os.uname().machine not in ("aarch64", "arm64"))
        assert model.settings()["device"].startswith("sm")
        assert model.settings()["dtype"] == "fp16"


def test_what_a_platform_cannot_goes_elsewhere():
    with pytest.warns(UserWarning, match="fp32"):
        model = assay.load("bert", "qnn", dtype="fp32")
    (step,) = model.settings()["fallback"]
    assert (step["from"], step["to"]) == ("qnn", "cpu")
    assert step["reason"].startswith("unsupported-dtype: ")
    model.release()
    with pytest.raises(assay.Unsupported, match="fp32"):
        assay.load("bert", "qnn", dtype="fp32", fallback=False)
    with pytest.raises(assay.Unavailable, match="OpenVINO has no device"):
        assay.load("bert", "openvino:NPU7", fallback=False)


def test_numbers_that_are_not_torchs_are_refused(monkeypatch):
    from assay_runner.engines.graphs import driver

    monkeypatch.setattr(driver.Session, "wrong_by", lambda self, running: 0.5)
    with pytest.warns(UserWarning, match="not torch's"):
        model = assay.load("bert", "openvino")
    assert model.settings()["platform"] == "cpu"
    assert model.settings()["fallback"][0]["reason"].startswith("wrong-output: ")
    model.release()


@pytest.mark.parametrize(
    ("name", "x", "platform"),
    [
        ("llama", "hello", "openvino"),
        pytest.param("t5", "hello", "openvino", marks=pytest.mark.full),
        pytest.param("llama", "hello", "qnn", marks=pytest.mark.full),
    ],
)
def test_generation(name, x, platform):
    with assay.load(name, "cpu") as plain, assay.load(name, platform, fallback=False) as model:
        assert model.run(x) == plain.run(x)
        if platform == "qnn":
            with pytest.raises(assay.Unsupported, match="16 tokens at most"):
                model.generate(x, max_new_tokens=20)
            return
        assert model.generate(x, max_new_tokens=20) == plain.generate(x, max_new_tokens=20)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "x"),
    [("vit", PICTURE), ("whisper", SOUND), ("clip", {"image": PICTURE, "text": ["a cat", "a dog"]})],
)
def test_natural_inputs(name, x):
    with assay.load(name, "cpu") as plain, assay.load(name, "openvino", fallback=False) as model:
        found, expected = model.run(x), plain.run(x)
    if isinstance(expected, str):
        assert found == expected
    else:
        assert [row["label"] for row in found] == [row["label"] for row in expected]


def test_an_input_that_stands_in_the_graph_is_refused(tmp_path):
    steps = [{"name": "constant inputs", "inputs": ["attention_mask"]}, {"name": "dead nodes removed"}]
    np.savez(tmp_path / "inputs.npz", attention_mask=np.ones((1, 4), np.int64), input_ids=np.ones((1, 4), np.int64))
    kept = artefact.Artefact(Entry(tmp_path, {"graph": {"steps": steps}}, False), ONNX)
    ones, ids = np.ones((1, 4), np.int64), np.arange(4)[None]
    on_graph._refuse_fixed(kept, {"input_ids": ids, "attention_mask": ones})
    with pytest.raises(assay.BadInput, match="does not take attention_mask"):
        on_graph._refuse_fixed(kept, {"input_ids": ids, "attention_mask": ones * 0})
