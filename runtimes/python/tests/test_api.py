"""The package assay on the CPU: real models, natural inputs, fallbacks, release."""

import gc
import json
import wave
import weakref

import numpy as np
import pytest
import torch
from PIL import Image
from torch_emit import Emit

import assay
from assay import loading, platforms, subjects
from assay_runner.engines.torch import engine
from assay_runner.subjects import outputs

PICTURE = np.random.default_rng(0).integers(0, 255, (50, 70, 3)).astype(np.uint8)
SOUND = np.sin(np.arange(16000) / 20).astype(np.float32)


@pytest.fixture(scope="module")
def bert():
    with assay.load("bert", "cpu") as model:
        yield model


@pytest.fixture(scope="module")
def llama():
    with assay.load("llama", "cpu") as model:
        yield model


def test_settings(bert):
    said = bert.settings()
    assert (said["model"], said["type"], said["class"]) == ("bert", "bert", "BertForMaskedLM")
    assert (said["task"], said["family"]) == ("fill-mask", "encoder-only")
    assert (said["asked"], said["platform"], said["device"], said["engine"]) == ("cpu", "cpu", "cpu", "torch")
    assert (said["size"], said["weights"], said["dtype"], said["checkpoint"]) == ("tiny", "random", "fp32", "")
    assert said["parameters"] == sum(p.numel() for p in bert._engine._model.parameters())
    assert said["versions"]["torch"] == torch.__version__.partition("+")[0]
    assert (said["fallback"], said["notes"], said["software"], said["modalities"]) == ([], [], False, ["text"])
    assert "ids 5 to 195" in said["reading"]
    assert json.loads(json.dumps(said)) == said


def test_the_numbers_are_the_programs(bert):
    """What run gives for the recipe's inputs has the hash that a result of `assay test` has."""
    emit = Emit()
    subject = subjects.find("bert")
    engine.run(subject.job(platforms.parse("cpu"), "fp32"), emit)
    found = {name: torch.from_numpy(array) for name, array in bert.run(**bert.example()).items()}
    assert outputs.digest(found) == emit.reports[0]["numerics"]["output_hash"]


def test_named_inputs(bert):
    given = bert.example(batch=3)
    assert {name: array.shape for name, array in given.items()} == {"input_ids": (3, 16), "attention_mask": (3, 16)}
    whole = bert.run(**{name: torch.from_numpy(array) for name, array in given.items()})["logits"]
    without_mask = bert.run(input_ids=given["input_ids"].tolist())["logits"]
    np.testing.assert_allclose(whole, without_mask, rtol=1e-5, atol=1e-6)
    segments = np.ones_like(given["input_ids"])
    assert not np.allclose(bert.run(**given, token_type_ids=segments)["logits"], whole)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"attention_mask": np.ones((1, 4), np.int64)}, "missing input_ids"),
        ({"input_ids": np.ones(4, np.int64)}, "takes \\[batch, seq\\]"),
        ({"input_ids": "a text"}, "not an array of numbers"),
    ],
)
def test_wrong_named_inputs(bert, named, said):
    with pytest.raises(assay.BadInput, match=said):
        bert.run(**named)


def test_text(bert):
    found = bert.run("some text")
    assert [row["position"] for row in found] == list(range(9))
    assert all(0 < row["score"] <= 1 for row in found)
    again = bert.run("some text, longer than the recipe's sixteen tokens")
    assert len(again) == 50
    assert bert.run("same") != bert.run("text")
    with pytest.raises(assay.BadInput, match="not both"):
        bert.run("text", input_ids=np.ones((1, 4), np.int64))
    with pytest.raises(assay.BadInput, match="takes text"):
        bert.run()
    with pytest.raises(assay.BadInput, match="string"):
        bert.run(PICTURE)


def test_padding_changes_nothing(bert):
    """A text's scores are those of its own tokens, whatever stands behind them."""
    ids = np.array([bert._reader.words.encode("abc")])
    plain = bert.run(input_ids=ids, attention_mask=np.ones_like(ids))["logits"][0].argmax(-1)
    assert [row["id"] for row in bert.run("abc")] == plain.tolist()


@pytest.mark.parametrize("texts", [["one", "two"], ["one", "a text of more than sixteen bytes"], ["one"], []])
def test_a_batch_is_each_of_it(bert, texts):
    alone = [bert.run(text) for text in texts]
    together = bert.batch(texts)
    assert len(together) == len(alone)
    for one, other in zip(together, alone, strict=True):
        assert [row["id"] for row in one] == [row["id"] for row in other]
        np.testing.assert_allclose([row["score"] for row in one], [row["score"] for row in other], rtol=1e-4)


def test_generation(llama):
    assert llama.generate("hello", max_new_tokens=24).startswith(llama.run("hello"))
    prompt = np.array([llama._reader.words.encode("hello")])
    ids = llama.generate(input_ids=prompt, max_new_tokens=3)
    assert ids.shape == (1, 3)
    first = llama.run(input_ids=prompt)["logits"][0, -1].argmax()
    assert ids[0, 0] == first
    assert llama.batch(["hello", "you"]) == [llama.run("hello"), llama.run("you")]
    with pytest.raises(assay.BadInput, match="at least one"):
        llama.generate("hello", max_new_tokens=0)


def test_what_does_not_generate_says_so(bert):
    with pytest.raises(assay.Unsupported, match="BertForMaskedLM generates no text"):
        bert.generate("hello")


def test_a_class_that_generates_its_own_way_says_so():
    with assay.load("blip-2", "cpu") as model, pytest.raises(assay.Unsupported, match="its own way"):
        model.run({"image": PICTURE, "text": "what is it?"})


def test_the_callers_generator_stays(bert):
    torch.manual_seed(7)
    expected = torch.rand(2)
    torch.manual_seed(7)
    bert.run("text")
    assert torch.equal(torch.rand(2), expected)


def is_text(found):
    return isinstance(found, str)


def is_ranked(names):
    def check(found):
        scores = [row["score"] for row in found]
        return {row["label"] for row in found} == names and scores == sorted(scores, reverse=True)

    return check


def is_array(*shape):
    return lambda found: isinstance(found, np.ndarray) and found.shape == shape and np.isfinite(found).all()


def are_boxes(found):
    left, top, right, bottom = np.array([row["box"] for row in found]).T
    return (left < right).all() and (top < bottom).all() and right.max() <= 2 * 70 and bottom.max() <= 2 * 50


NATURAL = {
    "vit": (PICTURE, is_ranked({"LABEL_0", "LABEL_1"})),
    "detr": (PICTURE, are_boxes),
    "segformer": (PICTURE, lambda found: found.ndim == 2 and found.dtype.kind == "i"),
    "clip": ({"image": PICTURE, "text": ["a cat", "a dog"]}, is_ranked({"a cat", "a dog"})),
    "xclip": ({"video": [PICTURE] * 5, "text": ["run", "sit"]}, is_ranked({"run", "sit"})),
    "clap": ({"audio": SOUND, "text": ["rain", "bells"]}, is_ranked({"rain", "bells"})),
    "llava": ({"image": PICTURE, "text": "what is it?"}, is_text),
    "whisper": (SOUND, is_text),
    "wav2vec2": (SOUND, is_text),
    "t5": ("translate this", is_text),
    "mamba": ("hello", is_text),
    "mixtral": ("hello", is_text),
    "roberta_prelayernorm": ("hello", lambda found: len(found) == 5),
    "clip_vision_model": (PICTURE, is_array(64)),
    "align_text_model": ("hello", is_array(64)),
    "rag": ("who?", lambda found: len(set(found["documents"])) == 5 and is_text(found["text"])),
    "stable-diffusion": ("a cat", is_array(32, 32, 3)),
}


@pytest.mark.parametrize("name", NATURAL)
def test_natural_inputs(name):
    x, check = NATURAL[name]
    with assay.load(name, "cpu") as model:
        found = model.run(x)
        assert check(found), found
        assert len(model.batch([x, x])) == 2


def test_pictures_and_sounds_of_files(tmp_path):
    Image.fromarray(PICTURE).save(tmp_path / "picture.png")
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes((np.stack([SOUND, SOUND], 1) * 32767).astype("<i2").tobytes())
    with assay.load("vit", "cpu") as model:
        assert model.run(tmp_path / "picture.png") == model.run(PICTURE) == model.run(Image.fromarray(PICTURE))
        with pytest.raises(assay.BadInput, match="cannot read"):
            model.run(tmp_path / "none.png")
    with assay.load("wav2vec2", "cpu") as model:
        assert model.run(tmp_path / "sound.wav") == model.run(SOUND)
        with pytest.raises(assay.BadInput, match="row of samples"):
            model.run(np.zeros((2, 2, 2)))


def test_several_modalities_need_a_dictionary():
    with assay.load("clip", "cpu") as model, pytest.raises(assay.BadInput, match="text and image in a dictionary"):
        model.run("a cat")


def test_what_has_no_natural_input_takes_arrays():
    with assay.load("patchtst", "cpu") as model:
        assert model.settings()["modalities"] == []
        with pytest.raises(assay.BadInput, match="example"):
            model.run("text")
        found = model.run(**model.example(2))
        assert all(isinstance(array, np.ndarray) for array in found.values())


def test_settings_say_what_bounds_the_processor(monkeypatch):
    monkeypatch.setattr(assay.instructions, "settle", lambda: "AVX512_CORE_FP16")
    with assay.load("bert", "cpu") as model:
        assert [note for note in model.settings()["notes"] if "ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16" in note]


@pytest.mark.parametrize("dtype", ["bf16", torch.float16, "half"])
def test_dtypes(dtype, bert):
    with assay.load("bert", "cpu", dtype=dtype) as model:
        assert model.settings()["dtype"] in ("bf16", "fp16")
        assert next(model._engine._model.parameters()).dtype in (torch.bfloat16, torch.float16)
        found, exact = (one.run(**one.example())["logits"] for one in (model, bert))
    assert not np.array_equal(found, exact)
    assert np.abs(found - exact).max() < 0.05 * np.abs(exact).max()


def test_release(bert):
    model = assay.load("bert", "cpu")
    inside = weakref.ref(model._engine._model)
    model.release()
    model.release()
    gc.collect()
    assert inside() is None
    named = bert.example()
    uses = (model.settings, lambda: model.run("text"), lambda: model.batch(["text"]), lambda: model.run(**named))
    for use in uses:
        with pytest.raises(assay.Released, match="load it again"):
            use()
    assert "released" in repr(model)


ABSENT = next(name for name in ("rocm", "mps", "cuda") if not loading._genuine(platforms.parse(name)))


def test_a_fallback_is_told(monkeypatch):
    def refuses(subject, target, dtype):
        raise assay.errors.runner.ExportFailed("no exporter writes it")

    monkeypatch.setitem(loading.ENGINES, "openvino", refuses)
    with pytest.warns(UserWarning, match="no exporter writes it"):
        model = assay.load("bert", ABSENT)
    first, second = model.settings()["fallback"]
    assert (first["from"], first["to"], second["from"], second["to"]) == (ABSENT, "openvino", "openvino", "cpu")
    assert "torch" in first["reason"]
    assert second["reason"] == "export: no exporter writes it"
    assert (model.settings()["asked"], model.settings()["platform"]) == (ABSENT, "cpu")
    model.release()


def test_without_fallback_it_is_an_error():
    with pytest.raises(assay.Unavailable, match="torch"):
        assay.load("bert", ABSENT, fallback=False)


def test_auto_takes_what_is_here(monkeypatch):
    monkeypatch.setattr(loading, "_genuine", lambda target: target.platform.platform == "cpu")
    with assay.load("bert") as model:
        assert (model.settings()["asked"], model.settings()["platform"]) == ("auto", "cpu")
        assert model.settings()["fallback"] == []


def test_an_emulator_is_not_chosen_by_itself():
    pytest.importorskip("onnxruntime_qnn")
    import platform

    assert loading._genuine(platforms.parse("qnn")) is (platform.machine() in ("aarch64", "arm64"))


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"model": "brt"}, assay.UnknownModel, "bert"),
        ({"model": "../nowhere"}, assay.UnknownModel, "config.json"),
        ({"model": "bert", "platform": "tpu"}, assay.Unsupported, "the platforms are cpu, cuda"),
        ({"model": "bert", "dtype": "fp12"}, assay.Unsupported, "the dtypes are"),
        ({"model": "bert", "platform": "cpu", "dtype": "int8"}, assay.Unsupported, "cpu does not run in int8"),
        ({"model": "bert", "size": "huge"}, assay.Unsupported, "tiny and full"),
        ({"model": "bert", "weights": "hub"}, assay.Unsupported, "name a checkpoint"),
        ({"model": "bert", "weights": "/nowhere"}, assay.Unavailable, "folder"),
        ({"model": "cuda:9"}, assay.UnknownModel, "nearest"),
    ],
)
def test_what_cannot_be(asked, error, said):
    with pytest.raises(error, match=said):
        assay.load(**asked)
