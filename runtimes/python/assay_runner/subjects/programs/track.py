"""The program `track`: models that follow objects through a video, one frame at a time, in a session that remembers.

Their forward takes the session and not tensors. Here it takes tensors: videos, and what to follow. A session
is made for each video, told on the first frame what to follow, and all frames run in order, so that each is seen with
the memory of those before it. There are two kinds of prompt, and a session's class says which it takes: points on
objects, or words that name them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from transformers import PreTrainedModel

from assay_runner.subjects import models
from assay_runner.subjects.wrapping import Wrapped

Recipe = Mapping[str, Any]
Found = dict[str, torch.Tensor]  # masks and scores of one frame, or of all frames
SESSION = "inference_session"  # the parameter of forward that gives such a model away
SCORE = "pred_obj_score_head.proj_out.bias"  # what the score of an object's being there starts from
NOWHERE = -512.0  # masks of an object that is not in a frame are -1024 all over; no mask that was computed is so low


class Tracking(Wrapped):
    """A model whose forward runs whole videos. Subclasses say how a session is told what to follow."""

    input_modalities = ("video",)

    def session(self, video: torch.Tensor) -> Any:
        """A session about one video, with all it remembers on the video's device."""
        height, width = video.shape[-2:]
        places = dict.fromkeys(("inference_device", "inference_state_device", "video_storage_device"), video.device)
        return session_class(type(self.model))(video, height, width, dtype=video.dtype, **places)

    def followed(self, session: Any, call: Mapping[str, Any]) -> Found:
        """What is found in every frame of a session that was told what to follow."""
        frames = [
            self.found(self.model(inference_session=session, frame_idx=number, **call))
            for number in range(session.num_frames)
        ]
        return _stacked(frames)

    def found(self, output: Any) -> Found:
        """The masks and scores of one frame, object by object."""
        raise NotImplementedError


class PointTracking(Tracking):
    """Follows objects that points mark on the first frame."""

    def forward(
        self, pixel_values: torch.Tensor, points: torch.Tensor, point_labels: torch.Tensor, **call: Any
    ) -> Found:
        """Videos (batch, frames, channels, height, width), and for each the points of its objects.

        Points (batch, objects, points, 2) go from -1 to 1 across the frame; a label of 1 says that a point lies on the
        object and 0 that it does not.
        """
        videos = []
        for video, marks, labels in zip(pixel_values, points, point_labels, strict=True):
            session = self.session(video)
            for number in range(len(marks)):
                self._mark(session, number, marks[number], labels[number])
            videos.append(self.followed(session, call))
        return _stacked(videos)

    @staticmethod
    def _mark(session: Any, number: int, points: torch.Tensor, labels: torch.Tensor) -> None:
        """Tells a session of an object on its first frame, as the released processors do."""
        points = points.to(torch.promote_types(points.dtype, torch.float32))  # as processors give them
        sides = points.new_tensor([session.video_width, session.video_height])
        prompt = {"point_coords": ((points + 1) / 2 * sides)[None, None], "point_labels": labels[None, None]}
        session.add_point_inputs(session.obj_id_to_idx(number), 0, prompt)
        session.obj_with_new_inputs.append(number)

    def found(self, output: Any) -> Found:
        """Masks and scores in the order in which objects were marked."""
        return {"masks": _computed(output.pred_masks[:, 0]), "scores": output.object_score_logits[:, 0]}


class WordTracking(Tracking):
    """Finds and follows objects that words name."""

    input_modalities = ("video", "text")

    def forward(
        self, pixel_values: torch.Tensor, input_ids: torch.Tensor, attention_mask: torch.Tensor, **call: Any
    ) -> Found:
        """Videos (batch, frames, channels, height, width), and the ids of one text for each."""
        videos = []
        for video, words, mask in zip(pixel_values, input_ids, attention_mask, strict=True):
            session = self.session(video)
            prompt = session.add_prompt("")  # the words themselves are only kept to be shown; ids are what is read
            session.prompt_input_ids[prompt] = words[None]
            session.prompt_attention_masks[prompt] = mask[None]
            videos.append(self.followed(session, call))
        return _stacked(videos)

    def found(self, output: Any) -> Found:
        """Masks and scores in the order of the objects' numbers."""
        masks = output.obj_id_to_mask
        scores = [output.obj_id_to_tracker_score[number] for number in sorted(masks)]
        stacked = torch.cat([masks[number] for number in sorted(masks)])
        return {"masks": _computed(stacked), "scores": stacked.new_tensor(scores)}


def _computed(masks: torch.Tensor) -> torch.Tensor:
    """Masks with nothing where an object is not in the frame: what fills them would outweigh every other number."""
    return masks.masked_fill(masks < NOWHERE, 0)


def _stacked(parts: list[Found]) -> Found:
    return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}


def follows(cls: type) -> bool:
    """Whether a model class is run in sessions."""
    return SESSION in inspect.signature(cls.forward).parameters


def session_class(cls: type) -> type:
    """The class of the sessions that a model class runs in, as its forward says."""
    return inspect.signature(cls.forward).parameters[SESSION].annotation


def construct(recipe: Recipe, attention: str | None) -> Tracking:
    """The recipe's class with drawn weights, to follow objects with."""
    model = models.model_class(recipe)(models.config(recipe, attention))
    _expect(model)
    return around(recipe, model)


def _expect(model: PreTrainedModel) -> None:
    """Lets a model with drawn weights think that objects are there.

    An object is in a frame where its score is above zero, and else its mask is thrown away. Drawn weights give scores
    about zero: rounding would decide, and most masks would never be seen.
    """
    for name, parameter in model.named_parameters():
        if name.endswith(SCORE):
            torch.nn.init.constant_(parameter, 1.0)


def around(recipe: Recipe, model: PreTrainedModel) -> Tracking:
    """A model to follow objects with, by the kind of prompt that its sessions take."""
    told = WordTracking if hasattr(session_class(type(model)), "add_prompt") else PointTracking
    return told(model)
