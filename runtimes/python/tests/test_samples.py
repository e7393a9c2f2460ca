"""The samples beside the first: what each rule changes, and that nothing else does."""

import torch

from assay_runner.subjects import samples
from assay_runner.subjects.samples import FIRST, HALF, LAST, PADDED, Sample

TEXT = {
    "type": "text",
    "config": {"vocab_size": 100, "pad_token_id": 1},
    "sizes": {"seq": 16},
    "inputs": [
        {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 5, "high": 90},
        {"name": "attention_mask", "kind": "ones", "dtype": "int64", "shape": ["batch", "seq"]},
    ],
}
PLACED = {
    **TEXT,
    "inputs": [
        {**TEXT["inputs"][0], "place": [{"id": 97, "at": 4, "count": 8}]},
        TEXT["inputs"][1],
        {"name": "mm_token_type_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 0, "high": 1,
         "place": [{"id": 1, "at": 4, "count": 8}]},
        {"name": "pixel_values", "kind": "float", "dtype": "float32", "shape": ["batch*16", 12]},
        {"name": "image_grid_thw", "kind": "value", "dtype": "int64", "value": [[1, 4, 4]], "per_batch": True},
    ],
}  # fmt: skip
SOUND = {
    "type": "sound",
    "inputs": [
        {"name": "input_features", "kind": "float", "dtype": "float32", "shape": ["batch", 20, 4]},
        {"name": "input_features_mask", "kind": "ones", "dtype": "bool", "shape": ["batch", 20]},
    ],
}


def made(recipe, batch=1):
    first = samples.inputs.make(recipe, {"batch": batch}, 0, torch.float32)
    return first, {one.name: one for one in samples.make(recipe, {"batch": batch}, 0, torch.float32)}


def test_a_text_has_samples_drawn_anew_at_the_edges_and_padded():
    first, found = made(TEXT)
    assert list(found) == ["from another seed", FIRST, LAST, PADDED, "words padded at the start"]
    assert (found[FIRST].tensors["input_ids"] == 5).all()
    assert (found[LAST].tensors["input_ids"] == 89).all()
    assert not torch.equal(found["from another seed"].tensors["input_ids"], first["input_ids"])
    for one in found.values():
        assert {name: t.shape for name, t in one.tensors.items()} == {name: t.shape for name, t in first.items()}
        assert {name: t.dtype for name, t in one.tensors.items()} == {name: t.dtype for name, t in first.items()}


def test_padding_hides_words_and_gives_them_the_id_of_padding():
    first, found = made(TEXT, batch=2)
    after, before = found[PADDED], found["words padded at the start"]
    assert after.tensors["attention_mask"].sum(1).tolist() == [13, 12]  # rows of different length
    assert after.tensors["attention_mask"][0, -3:].tolist() == [0, 0, 0]
    assert after.tensors["input_ids"][0, -3:].tolist() == [1, 1, 1]
    assert torch.equal(after.tensors["input_ids"][:, :12], first["input_ids"][:, :12])
    assert before.tensors["attention_mask"][:, :3].sum() == 0
    assert after.masks == before.masks == ("attention_mask",)


def test_padding_never_covers_what_is_placed():
    _, found = made(PLACED)
    for name in (PADDED, "words padded at the start"):
        one = found[name].tensors
        assert (one["input_ids"] == 97).sum() == 8
        assert (one["attention_mask"][one["input_ids"] == 97] == 1).all()
        assert (one["attention_mask"] == 0).any()


def test_what_is_placed_moves_with_its_marks():
    first, found = made(PLACED)
    moved = found["placed tokens moved"].tensors
    assert (moved["input_ids"][0, 7:15] == 97).all()
    assert (moved["mm_token_type_ids"][0, 7:15] == 1).all()
    assert sorted(moved["input_ids"][0].tolist()) == sorted(first["input_ids"][0].tolist())
    assert torch.equal(moved["pixel_values"], first["pixel_values"])


def test_images_of_another_form_have_as_many_patches():
    _, found = made(PLACED)
    assert found["images of another form"].tensors["image_grid_thw"].tolist() == [[1, 2, 8]]
    assert found["images of two frames"].tensors["image_grid_thw"].tolist() == [[2, 2, 4]]


def test_sounds_are_padded_at_their_end_only():
    _, found = made(SOUND)
    assert not found[PADDED].tensors["input_features_mask"][0, -3:].any()
    assert "words padded at the start" not in found
    assert found[LAST].tensors["input_features"].abs().unique().tolist() == [4.0]


def test_what_is_no_text_is_also_padded_by_half():
    first, found = made(SOUND, batch=2)
    hidden = (found[HALF].tensors["input_features_mask"] == 0).sum(1)
    assert hidden.tolist() == [10, 8]  # rows of different length
    assert found[HALF].masks == ("input_features_mask",)
    assert torch.equal(found[HALF].tensors["input_features"], first["input_features"])
    assert HALF not in made(TEXT)[1]


def test_a_mask_is_of_what_has_its_length():
    wave = {"name": "input_values", "kind": "float", "dtype": "float32", "shape": ["batch", "samples"]}
    mask = {"name": "attention_mask", "kind": "ones", "dtype": "int64", "shape": ["batch", "samples"]}
    _, found = made({"type": "wave", "sizes": {"samples": 64}, "inputs": [wave, mask]})
    assert "words padded at the start" not in found  # a sound's, by the name of a text's
    _, found = made({"type": "states", "inputs": [{**wave, "name": "states", "shape": ["batch", 8, 4]},
                                                  {**mask, "shape": ["batch", 8]}]})  # fmt: skip
    assert found["words padded at the start"].tensors["attention_mask"].tolist() == [[0, 0, 0, 1, 1, 1, 1, 1]]


def test_outputs_are_compared_where_nothing_is_hidden():
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    one = Sample("padded", {"attention_mask": mask}, ("attention_mask",))
    by_position, pooled = torch.arange(12.0).reshape(2, 3, 2), torch.ones(2, 5)
    seen = one.visible({"logits": by_position, "pooled": pooled})
    assert seen["logits"].tolist() == [[0, 1], [2, 3], [6, 7]]
    assert seen["pooled"] is pooled


def test_a_position_that_stands_for_hidden_frames_is_not_compared():
    """Models of sounds give one position for several frames."""
    mask = torch.tensor([[1, 1, 1, 1, 1, 0, 0, 0]])
    padded = Sample("padded", {"input_features": torch.ones(1, 8, 4), "attention_mask": mask}, ("attention_mask",))
    given = {"states": torch.arange(4.0).reshape(1, 4, 1), "logits": torch.ones(1, 4), "frames": torch.ones(1, 8, 2)}
    seen = padded.visible(given)
    assert seen["states"].flatten().tolist() == [0.0, 1.0]
    assert seen["logits"].shape == (1, 4), "one number for each class: no positions"
    assert seen["frames"].shape == (5, 2)
    words = Sample("padded", {"input_ids": torch.ones(1, 8), "attention_mask": mask}, ("attention_mask",))
    words.tensors["input_ids"] = torch.ones(1, 8, dtype=torch.int64)
    assert words.visible(given)["states"].shape == (1, 4, 1), "words are not thinned out"
