"""Programs: models that follow objects through videos."""

import functools

import pytest
import torch
from torch_emit import Emit, job
from transformers import (
    BertModel,
    EdgeTamVideoModel,
    Sam2Model,
    Sam2VideoModel,
    Sam3TrackerVideoModel,
    Sam3VideoModel,
)

from assay_runner.engines.torch import engine
from assay_runner.subjects import inputs, outputs
from assay_runner.subjects.fitting import program_choice as plans
from assay_runner.subjects.programs import building, track
from assay_runner.subjects.recipes import making

BATCHES = [{"batch": 1}, {"batch": 2}, {"batch": 3}]
TYPES = ["edgetam_video", "sam2_video", "sam3_tracker_video", "sam3_video"]
FRAMES = 4


@functools.cache
def tiny(model_type):
    return making.tiny(model_type)


@functools.cache
def model_of(model_type):
    return building.build(tiny(model_type), torch.float32, 0).model


def given(model_type, batch=1, seed=0):
    return inputs.make(tiny(model_type), {"batch": batch}, seed, torch.float32)


def followed(model_type, **tensors):
    with torch.inference_mode():
        return outputs.flatten(model_of(model_type)(**tensors, **tiny(model_type)["call"]))


@pytest.mark.parametrize(
    ("cls", "program"),
    [
        (EdgeTamVideoModel, "track"),
        (Sam2VideoModel, "track"),
        (Sam3TrackerVideoModel, "track"),
        (Sam3VideoModel, "track"),
        (Sam2Model, ""),
        (BertModel, ""),
    ],
)
def test_a_model_that_takes_a_session_is_run_by_following(cls, program):
    assert plans.choose(cls, {}).program == program


@pytest.mark.parametrize("model_type", TYPES)
def test_videos_run_in_batches_and_their_check_can_fail(model_type):
    recipe = tiny(model_type)
    assert recipe["program"] == "track" and recipe["parameters"] < making.TINY_LIMIT
    emit = Emit()
    engine.run(job(recipe, points=BATCHES), emit)
    assert len(emit.reports) == len(BATCHES)
    for report in emit.reports.values():
        assert report["finite"] and not report["constant"]
        assert report["numerics"]["pass"] and report["numerics"]["reference"] == "cpu fp64"
        assert report["numerics"]["control"]["pass"]


@pytest.mark.parametrize("model_type", TYPES)
def test_every_object_is_found_in_every_frame_of_every_video(model_type):
    found = followed(model_type, **given(model_type, batch=2))
    videos, frames, objects = found["scores"].shape
    assert (videos, frames) == (2, FRAMES) and objects > 1
    assert found["masks"].shape[:3] == found["scores"].shape
    assert found["masks"].abs().amax((-1, -2)).gt(0).all()


@pytest.mark.parametrize("model_type", TYPES)
def test_a_video_is_followed_as_if_it_were_alone(model_type):
    both = given(model_type, batch=2)
    together = followed(model_type, **both)
    for number in range(2):
        alone = followed(model_type, **{name: tensor[number : number + 1] for name, tensor in both.items()})
        assert all(torch.equal(alone[name][0], together[name][number]) for name in together)


@pytest.mark.parametrize("model_type", TYPES)
def test_a_frame_is_seen_with_the_memory_of_those_before_it_and_not_of_those_after(model_type):
    video = given(model_type)
    before = followed(model_type, **video)["masks"]
    video["pixel_values"][:, 1] = given(model_type, seed=1)["pixel_values"][:, 1]
    after = followed(model_type, **video)["masks"]
    same = [torch.equal(before[:, number], after[:, number]) for number in range(FRAMES)]
    assert same == [True, False, False, False]


@pytest.mark.parametrize("model_type", TYPES)
def test_what_is_followed_is_what_the_prompt_says(model_type):
    for name in set(given(model_type)) - {"pixel_values", "attention_mask"}:
        other = given(model_type) | {name: given(model_type, seed=1)[name]}
        first, second = followed(model_type, **given(model_type)), followed(model_type, **other)
        assert not torch.equal(first["masks"][:, 0], second["masks"][:, 0]), name


def test_points_go_across_the_frame():
    class Session:
        video_width, video_height, obj_with_new_inputs = 64, 32, []

        def obj_id_to_idx(self, number):
            return number

        def add_point_inputs(self, number, frame, prompt):
            self.told = number, frame, prompt

    session, corners = Session(), torch.tensor([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.5]], dtype=torch.bfloat16)
    track.PointTracking._mark(session, 1, corners, torch.tensor([1, 0, 1]))
    number, frame, prompt = session.told
    assert (number, frame, session.obj_with_new_inputs) == (1, 0, [1])
    assert prompt["point_coords"].tolist() == [[[[0, 0], [64, 32], [32, 24]]]]
    assert prompt["point_labels"].tolist() == [[[1, 0, 1]]]


def test_weights_from_a_folder_are_left_as_they_are(tmp_path):
    recipe = tiny("sam3_tracker_video")
    made = building.build(recipe, torch.float32, 0).model
    expected = made.model.state_dict()
    assert expected[f"mask_decoder.{track.SCORE}"].item() == 1.0
    expected[f"mask_decoder.{track.SCORE}"].fill_(3.0)
    made.model.save_pretrained(tmp_path)
    loaded = building.load(recipe, str(tmp_path), torch.float32, 0).model
    assert all(torch.equal(tensor, expected[name]) for name, tensor in loaded.model.state_dict().items())
    with torch.inference_mode():
        assert loaded(**given("sam3_tracker_video"))["scores"].sub(3).abs().max() < 0.1
