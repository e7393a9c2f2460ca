"""Programs: models that are more than one plain forward."""

import pytest
import torch
import torch_recipes

from assay_runner import models, programs, subject
from assay_runner.errors import BadRecipe


def test_a_recipe_without_a_program_is_a_plain_forward():
    model = models.build(torch_recipes.BERT, torch.float32, 0).model
    assert type(model) is models.model_class(torch_recipes.BERT)


def test_an_unknown_program_is_refused_in_a_sentence():
    with pytest.raises(BadRecipe, match="no program 'dance'"):
        models.build({**torch_recipes.BERT, "program": "dance"}, torch.float32, 0)


def test_weights_from_a_folder_need_a_program_that_can_be_laid_around_them(tmp_path, monkeypatch):
    monkeypatch.setitem(programs.PROGRAMS, "made-whole", programs.Program(programs.plain))
    with pytest.raises(BadRecipe, match="'made-whole' cannot read weights"):
        models.load({**torch_recipes.BERT, "program": "made-whole"}, str(tmp_path), torch.float32, 0)


def test_a_program_changes_the_subject_and_its_absence_does_not():
    def digest(**more):
        return subject.digest({**torch_recipes.BERT, **more}, {}, {"batch": 1}, 0)

    assert digest() == digest(program="") == digest(parts=None)
    assert len({digest(), digest(program="generate"), digest(parts={"unet": {}})}) == 3
