"""Models from recipes: the library's releases, and real weights that lack something."""

import hashlib
import json

import pytest
import torch
import torch_recipes
import transformers
from safetensors.torch import load_file, save_file

from assay_runner.errors import NotInRelease
from assay_runner.subjects import checkpoints, identity, models, weights
from assay_runner.subjects.programs import building

GONE = "bert.encoder.layer.1.output.dense.weight"


@pytest.fixture
def folder(tmp_path):
    """A checkpoint on disk without one matrix, one bias and its head's transformation."""
    model = building.build(torch_recipes.BERT, torch.float32, 3).model
    model.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    kept = {k: v for k, v in load_file(file).items() if k != GONE and "predictions.transform" not in k}
    save_file(kept, file, metadata={"format": "pt"})
    return tmp_path


def state(built):
    return {name: t.clone() for name, t in built.model.state_dict().items()}


def test_gaps_of_real_weights_are_drawn_from_our_stream(folder):
    torch.manual_seed(1)
    one = building.load(torch_recipes.BERT, str(folder), torch.float32, 0)
    torch.manual_seed(2)
    two = building.load(torch_recipes.BERT, str(folder), torch.float32, 0, threads=2)
    assert GONE in one.weights["missing"]
    first, second = state(one), state(two)
    assert all(torch.equal(first[name], second[name]) for name in first)
    drawn = building.build({**torch_recipes.BERT, "gain": 1.0}, torch.float32, 0).model.state_dict()
    assert all(torch.equal(first[name], drawn[name]) for name in one.weights["missing"])
    there = building.build(torch_recipes.BERT, torch.float32, 3).model.state_dict()
    assert all(torch.equal(first[name], there[name]) for name in first if name not in one.weights["missing"])


def test_gaps_depend_on_the_seed_and_so_does_the_subject(folder):
    built = [building.load(torch_recipes.BERT, str(folder), torch.float32, seed) for seed in (0, 1)]
    assert not torch.equal(*(state(one)[GONE] for one in built))
    hashes = {identity.digest(torch_recipes.BERT, one.weights, {"batch": 1}, i) for i, one in enumerate(built)}
    assert len(hashes) == 2


def test_real_weights_with_another_attention(folder):
    assert building.load(torch_recipes.BERT, str(folder), torch.float32, 0, attention="eager").attention == "eager"


def test_half_precision_gaps(folder):
    built = building.load(torch_recipes.BERT, str(folder), torch.bfloat16, 0)
    wide = building.load(torch_recipes.BERT, str(folder), torch.float32, 0)
    assert torch.equal(state(built)[GONE], state(wide)[GONE].bfloat16())
    assert built.weights == wide.weights


def test_only_what_is_asked_for_is_drawn():
    drawn = weights.drawn(lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)), 0, only=["1.bias"])
    assert list(drawn.draws) == ["1.bias"]


def test_the_subject_does_not_depend_on_the_order_of_modules():
    facts = building.build(torch_recipes.BERT, torch.float32, 0).weights
    turned = {**facts, "drawn": dict(reversed(facts["drawn"].items()))}
    name = next(iter(facts["drawn"]))
    ((shape, mean, _),) = facts["drawn"][name][:1]
    other = {**facts, "drawn": {**facts["drawn"], name: [(shape, mean, "9")]}}
    base, same, different = (identity.digest(torch_recipes.BERT, f, {"batch": 1}, 0) for f in (facts, turned, other))
    assert base == same != different


def test_a_folder_is_known_by_its_bytes(folder):
    own = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert (
        checkpoints.digest(checkpoints.files(str(folder)))
        == hashlib.sha256(f"model.safetensors {own}\n".encode()).hexdigest()
    )


def test_a_type_of_another_release_is_a_missing_dependency():
    recipe = {"type": "bert_of_2031", "class": "Bert2031Model"}
    with pytest.raises(NotInRelease, match=f"transformers {transformers.__version__} has no model type 'bert_of_2031'"):
        models.model_class(recipe)
    assert issubclass(NotInRelease, ModuleNotFoundError)


class Rival(transformers.PretrainedConfig):
    """A configuration as releases of transformers before 5 had them."""

    def __init__(self, use_timm_backbone=True, backbone="resnet50", backbone_config=None, **rest):
        if backbone_config is not None and (backbone or use_timm_backbone):
            raise ValueError("You can't specify both `backbone` and `backbone_config`.")
        self.backbone, self.use_timm_backbone, self.use_pretrained_backbone = backbone, use_timm_backbone, True
        self.inner = transformers.TimmBackboneConfig(use_pretrained_backbone=True)
        super().__init__(**rest)


def test_a_given_backbone_replaces_the_default_one(monkeypatch):
    monkeypatch.setattr(models, "config_class", lambda recipe: Rival)
    given = models.config({"config": {"backbone_config": {"model_type": "timm_backbone"}}})
    assert (given.backbone, given.use_timm_backbone) == (None, False)
    assert models.config({"config": {}}).backbone == "resnet50"


def test_no_backbone_asks_for_published_weights(monkeypatch):
    monkeypatch.setattr(models, "config_class", lambda recipe: Rival)
    made = models.config({"config": {}})
    assert made.use_pretrained_backbone is False
    assert made.inner.use_pretrained_backbone is False
    json.dumps(made.inner.to_dict())
