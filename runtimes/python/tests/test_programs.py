"""Programs: models that are more than one plain forward."""

import functools

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job
from transformers import BarkModel, BertModel, RagModel, RagTokenForGeneration

from assay_runner.checking import damages, numerics, tolerances
from assay_runner.engines.torch import engine
from assay_runner.errors import BadRecipe
from assay_runner.subjects import identity, inputs, models, outputs
from assay_runner.subjects.fitting import program_choice as plans
from assay_runner.subjects.programs import building, table
from assay_runner.subjects.recipes import making

BATCHES = [{"batch": 1}, {"batch": 2}, {"batch": 3}]


def test_a_recipe_without_a_program_is_a_plain_forward():
    model = building.build(torch_recipes.BERT, torch.float32, 0).model
    assert type(model) is models.model_class(torch_recipes.BERT)


def test_an_unknown_program_is_refused_in_a_sentence():
    with pytest.raises(BadRecipe, match="no program 'dance'"):
        building.build({**torch_recipes.BERT, "program": "dance"}, torch.float32, 0)


def test_weights_from_a_folder_need_a_program_that_can_be_laid_around_them(tmp_path, monkeypatch):
    monkeypatch.setitem(table.PROGRAMS, "made-whole", table.Program(table.plain))
    with pytest.raises(BadRecipe, match="'made-whole' cannot read weights"):
        building.load({**torch_recipes.BERT, "program": "made-whole"}, str(tmp_path), torch.float32, 0)


def test_a_program_changes_the_subject_and_its_absence_does_not():
    def digest(**more):
        return identity.digest({**torch_recipes.BERT, **more}, {}, {"batch": 1}, 0)

    assert digest() == digest(program="") == digest(parts=None)
    assert len({digest(), digest(program="generate"), digest(parts={"unet": {}})}) == 3


@functools.cache
def tiny(model_type):
    return making.tiny(model_type)


def answer(model, recipe, **other):
    given = inputs.make(recipe, {"batch": 1}, 0, torch.float32) | other
    with torch.inference_mode():
        return outputs.flatten(model(**given, **recipe["call"]))


@pytest.mark.parametrize(
    ("cls", "values", "program"),
    [
        (BertModel, {"num_hidden_layers": 2}, ""),
        (BarkModel, {}, "generate"),
        (RagModel, {"retrieval_vector_size": 768}, "rag"),
        (RagModel, {}, ""),
    ],
)
def test_the_program_is_chosen_by_what_a_model_is(cls, values, program):
    assert plans.choose(cls, values).program == program


@pytest.mark.parametrize("model_type", ["rag", "bark", "glm_image_vqmodel"])
def test_a_program_runs_in_batches_and_its_check_can_fail(model_type):
    emit = Emit()
    engine.run(job(tiny(model_type), points=BATCHES), emit)
    assert len(emit.reports) == len(BATCHES)
    for report in emit.reports.values():
        assert report["finite"] and not report["constant"]
        assert report["numerics"]["pass"] and report["numerics"]["reference"] == "cpu fp64"
        assert report["numerics"]["control"]["pass"]


def test_a_generation_is_the_same_each_time_and_gives_logits_ids_and_sound():
    recipe = tiny("bark")
    model = building.build(recipe, torch.float32, 0).model
    one, two = answer(model, recipe), answer(model, recipe)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert one["logits.semantic"].shape == (1, 4, 256)
    assert one["generated"].shape == (1, 6 * 320)  # six frames of the codec
    other = answer(model, recipe, **inputs.make(recipe, {"batch": 1}, 1, torch.float32))
    assert not torch.equal(one["generated"], other["generated"])


def test_a_generation_calls_no_hooks_once_it_is_over():
    model = building.build(tiny("bark"), torch.float32, 0).model
    answer(model, tiny("bark"))
    assert not any(part._forward_hooks for part in model.modules())


def test_another_question_reads_other_documents():
    recipe = tiny("rag")
    model = building.build(recipe, torch.float32, 0).model
    assert isinstance(model.model, RagTokenForGeneration)
    asked = answer(model, recipe)
    other = answer(model, recipe, input_ids=inputs.make(recipe, {"batch": 1}, 1, torch.float32)["input_ids"])
    assert set(asked["doc_ids"][0].tolist()) != set(other["doc_ids"][0].tolist())


def test_an_answer_depends_on_what_the_documents_say():
    recipe = tiny("rag")
    assert recipe["control"]["kind"] == "zero-index"
    model = building.build(recipe, torch.float32, 0).model
    before = answer(model, recipe)
    model.index.documents.add_(1)  # the same documents are found, and say something else
    after = answer(model, recipe)
    assert torch.equal(before["doc_ids"], after["doc_ids"])
    assert numerics.compare(after, before).max_rel > numerics.CONTROL_FACTOR * tolerances.TABLE["fp32"]


def test_an_index_is_data_and_not_learnt():
    model = building.build(tiny("rag"), torch.float32, 0).model
    assert building.count(model) == building.count(model.model) == tiny("rag")["parameters"]
    assert {id(t) for t in damages.targets(model, "zero-index")} == {id(t) for t in model.index.buffers()}


def test_the_same_documents_for_a_seed_and_others_for_another():
    one, same, other = (building.build(tiny("rag"), torch.float32, seed).model.index for seed in (0, 0, 1))
    assert torch.equal(one.documents, same.documents) and torch.equal(one.embeddings, same.embeddings)
    assert not torch.equal(one.documents, other.documents) and not torch.equal(one.embeddings, other.embeddings)


def test_a_program_is_laid_around_weights_from_a_folder(tmp_path):
    recipe = tiny("rag")
    model = building.build(recipe, torch.float32, 0).model
    model.model.save_pretrained(tmp_path)
    loaded = building.load(recipe, str(tmp_path), torch.float32, 0).model
    assert torch.equal(loaded.model.state_dict()[name := "rag.question_encoder.question_encoder.bert_model.embeddings"
                       ".word_embeddings.weight"], model.model.state_dict()[name])  # fmt: skip
    assert answer(loaded, recipe)["logits"].isfinite().all()


def test_full_recipes_of_programs_are_refused_in_a_sentence():
    with pytest.raises(BadRecipe, match="program 'generate'"):
        making.of_config("bark", BarkModel, "text-to-audio", {})
