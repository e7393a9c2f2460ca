"""Real weights: whole, cut, another model's, pickled with and without code, and models that bring code of their own."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch
import torch_recipes
from safetensors.torch import load_file, save_file
from torch_emit import Emit

from assay_runner.engines import preimporting
from assay_runner.engines.torch import engine
from assay_runner.errors import BadRecipe, MissingCode, MissingWeights
from assay_runner.subjects import checkpoints
from assay_runner.subjects.programs import building
from assay_runner.subjects.recipes import given

OWN = {
    "configuration_own.py": """
from transformers import PretrainedConfig

class OwnConfig(PretrainedConfig):
    model_type = "own_of_test"
    def __init__(self, hidden_size=32, vocab_size=64, num_hidden_layers=2, **rest):
        self.hidden_size, self.vocab_size, self.num_hidden_layers = hidden_size, vocab_size, num_hidden_layers
        super().__init__(**rest)
""",
    "modeling_own.py": """
import torch
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from .configuration_own import OwnConfig

class OwnModel(PreTrainedModel):
    config_class = OwnConfig
    base_model_prefix = "own"

    def __init__(self, config):
        super().__init__(config)
        self.embed = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.mix = torch.nn.ModuleList(
            torch.nn.Linear(config.hidden_size, config.hidden_size) for _ in range(config.num_hidden_layers)
        )
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        hidden = self.embed(input_ids)
        for layer in self.mix:
            hidden = hidden + torch.tanh(layer(hidden))
        return BaseModelOutput(last_hidden_state=hidden)
""",
    "config.json": json.dumps(
        {
            "model_type": "own_of_test",
            "auto_map": {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "modeling_own.OwnModel"},
            "hidden_size": 48,
        }
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny BERT, saved as its users do."""
    building.build(torch_recipes.BERT, torch.float32, 3).model.save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model that brings its own code."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    home = tmp_path / "own"
    home.mkdir()
    for name, text in OWN.items():
        (home / name).write_text(text)
    return home


def load(folder: Path, **options: object) -> building.Built:
    return building.load(torch_recipes.BERT, str(folder), torch.float32, 0, **options)


def run(job: dict[str, object]) -> Emit:
    emit = Emit()
    engine.run(job, emit)
    return emit


def change(folder: Path, edit: object) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    save_file(edit(tensors), file, metadata={"format": "pt"})


def test_what_was_saved_is_what_is_loaded(folder: Path) -> None:
    source, loaded = building.build(torch_recipes.BERT, torch.float32, 3).model, load(folder)
    for name, value in source.named_parameters():
        assert torch.equal(value, loaded.model.get_parameter(name)), name
    assert (loaded.weights["missing"], loaded.unused) == ([], [])
    own = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert loaded.weights["weights"] == hashlib.sha256(f"model.safetensors {own}\n".encode()).hexdigest()


def test_extra_tensors_are_named(folder: Path) -> None:
    change(folder, lambda tensors: {**tensors, "nobody.knows.it": torch.ones(3), "another": torch.ones(2)})
    loaded = load(folder)
    assert loaded.unused == ["another", "nobody.knows.it"]
    assert loaded.weights["missing"] == []


def test_a_job_reports_what_is_missing_and_what_is_unused(folder: Path) -> None:
    gone = "bert.encoder.layer.1.output.dense.weight"
    change(folder, lambda tensors: {k: v for k, v in tensors.items() if k != gone} | {"extra": torch.ones(3)})
    job = {"kind": "check", "cell": {"weights": str(folder)}, "recipe": torch_recipes.BERT, "threads": 1}
    report = run({**job, "weights": {"folder": str(folder)}}).reports[0]
    assert report["weights_missing"] == [gone]
    assert report["weights_unused"] == ["extra"]
    assert report["weights_digest"] == checkpoints.digest(checkpoints.files(str(folder)))
    with pytest.raises(MissingWeights, match="does not say in which folder"):
        run(job)


def test_weights_of_another_model(folder: Path) -> None:
    change(folder, lambda tensors: {f"other.{name}": t for name, t in tensors.items()})
    with pytest.raises(MissingWeights, match="none of the tensors of BertForMaskedLM"):
        load(folder)


def test_weights_of_another_width(folder: Path) -> None:
    gone = "bert.encoder.layer.1.output.dense.weight"
    change(folder, lambda tensors: {**tensors, gone: torch.ones(3, 5)})
    with pytest.raises(RuntimeError, match=r"ignore_mismatched_sizes|size mismatch"):
        load(folder)


def test_shards_that_the_index_names_are_the_weights(folder: Path) -> None:
    building.build(torch_recipes.BERT, torch.float32, 3).model.save_pretrained(folder, max_shard_size="100KB")
    (folder / "model.safetensors").unlink(missing_ok=True)
    files = checkpoints.files(str(folder))
    assert len(files) > 1 and all(file.is_file() for file in files)
    (folder / "unnamed.safetensors").write_bytes(b"not one of them")
    assert checkpoints.files(str(folder)) == files
    assert load(folder).weights["weights"] == checkpoints.digest(files)
    (folder / checkpoints.SAFE[1]).write_text("[]")
    with pytest.raises(MissingWeights, match="not an index"):
        checkpoints.files(str(folder))


def test_a_folder_without_weights_or_configuration(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(MissingWeights, match="no safetensors"):
        load(folder)
    (folder / "config.json").unlink()
    with pytest.raises(MissingWeights, match=r"no config\.json"):
        load(folder)


@pytest.fixture
def pickled(folder: Path) -> Path:
    """The same weights as a pickle."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def test_a_pickle_only_when_asked_for(pickled: Path) -> None:
    with pytest.raises(MissingWeights, match="pickled"):
        load(pickled)
    loaded = load(pickled, pickle=True)
    assert loaded.weights["missing"] == []
    source = building.build(torch_recipes.BERT, torch.float32, 3).model
    assert all(torch.equal(value, loaded.model.get_parameter(name)) for name, value in source.named_parameters())


class Code:
    """What a pickle with code in it holds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))])
def test_a_pickle_with_code_in_it_is_refused_and_the_code_is_not_run(pickled: Path, write: object) -> None:
    ran = pickled / "ran"
    write({"bert.embeddings.word_embeddings.weight": Code(ran)}, pickled / "pytorch_model.bin")
    with pytest.raises(Exception, match=r"(?i)weights.only|unsupported") as raised:
        load(pickled, pickle=True)
    assert "UnpicklingError" in {cls.__name__ for cls in type(raised.value).__mro__}
    assert not ran.exists()


def test_own_code_is_refused_unless_asked_for(own: Path) -> None:
    with pytest.raises(MissingCode, match=r"wants to run custom code \(configuration_own\.OwnConfig\)"):
        given.recipe(own / "config.json")
    assert issubclass(MissingCode, ModuleNotFoundError)


def test_own_code_that_was_asked_for_runs(own: Path, tmp_path: Path) -> None:
    recipe = given.recipe(own / "config.json", trusted=True)
    assert (recipe["class"], recipe["config_class"], recipe["task"]) == ("OwnModel", "OwnConfig", "feature-extraction")
    assert recipe["parameters"] == 64 * 48 + 2 * (48 * 48 + 48)
    source = building.build(recipe, torch.float32, 5).model
    source.save_pretrained(tmp_path / "saved")
    for name in OWN:
        shutil.copy(own / name, tmp_path / "saved" / name)
    job = {"kind": "check", "cell": {"weights": "hub"}, "recipe": recipe, "threads": 1}
    report = run({**job, "weights": {"folder": str(tmp_path / "saved")}}).reports[0]
    assert report["weights_missing"] == [] and report["numerics"]["pass"]
    preimporting.preload(job)  # must not import it: that is for children


@pytest.mark.parametrize(
    ("auto_map", "says"),
    [
        ({"AutoConfig": "owner/other--configuration_own.C", "AutoModel": "modeling_own.M"}, "another repository"),
        (
            {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "absent.M"},
            "which is not beside",
        ),
        ({"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "../evil.M"}, "another repository"),
        ({"AutoConfig": "configuration_own.OwnConfig"}, "no configuration and model"),
        ({"AutoModel": "modeling_own.OwnModel"}, "no configuration and model"),
    ],
)
def test_own_code_that_is_not_beside_the_file(own: Path, auto_map: dict[str, str], says: str) -> None:
    (own / "config.json").write_text(json.dumps({"model_type": "own_of_test", "auto_map": auto_map}))
    with pytest.raises((MissingCode, BadRecipe), match=says):
        given.recipe(own / "config.json", trusted=True)


def test_a_type_that_transformers_has_needs_no_own_code(tmp_path: Path) -> None:
    values = {"model_type": "bert", "auto_map": {"AutoConfig": "x.C", "AutoModel": "x.M"}, "hidden_size": 48}
    values |= {"num_attention_heads": 4, "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 99}
    (tmp_path / "config.json").write_text(json.dumps(values))
    recipe = given.recipe(tmp_path)
    assert recipe["class"].startswith("Bert") and "code" not in recipe


SMALL = {"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 99}


@pytest.mark.parametrize(
    "values",
    [
        {"vocab_size": -1},
        {"vocab_size": 0},
        {"num_attention_heads": 0},
        {"num_attention_heads": -4},
        {"num_hidden_layers": -1},
        {"intermediate_size": -5},
        {"hidden_size": "64"},
        {"hidden_size": None},
        {"hidden_size": [64]},
        {"hidden_size": 64.5},
        {"hidden_act": "no-such-function"},
        {"hidden_size": 1 << 41},
        {"max_position_embeddings": 1 << 39},
        {"vocab_size": 1 << 39},
        {"hidden_dropout_prob": 17.0},
        {"layer_norm_eps": "small"},
    ],
    ids=str,
)
def test_a_config_with_values_that_no_model_has(values: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SMALL | values))
    with pytest.raises((BadRecipe, MemoryError)) as refused:
        given.recipe(tmp_path)
    assert len(str(refused.value)) > 30, "a sentence"


@pytest.mark.parametrize(
    "values", [{}, {"nobody_knows": {"this": [1]}}, {"architectures": "BertModel"}, {"id2label": None}]
)
def test_missing_and_extra_values_are_no_harm(values: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SMALL | values))
    assert given.recipe(tmp_path)["parameters"] > 1000


def test_weights_of_another_model_are_refused(tmp_path):
    from transformers import BertConfig, BertForMaskedLM

    sizes = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 99}
    BertForMaskedLM(BertConfig(num_hidden_layers=2, **sizes)).save_pretrained(tmp_path)
    asked = {"type": "bert", "class": "BertForMaskedLM", "config_class": "BertConfig", "size": "full"}
    with pytest.raises(BadRecipe, match="num_hidden_layers is 2, and 3 was asked for"):
        building.load({**asked, "config": {**sizes, "num_hidden_layers": 3}}, str(tmp_path), torch.float32, 0)
    assert building.load(
        {**asked, "config": {**sizes, "num_hidden_layers": 2}}, str(tmp_path), torch.float32, 0
    ).parameters
