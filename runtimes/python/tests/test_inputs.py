import pytest
import torch

from assay_runner.errors import BadRecipe
from assay_runner.subjects import inputs


def made(*specs, point=None, sizes=None, seed=0, dtype=torch.float32):
    return inputs.make({"inputs": list(specs), "sizes": sizes or {"seq": 8}}, point or {"batch": 2}, seed, dtype)


IDS = {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 5, "high": 50}
PIXELS = {"name": "pixel_values", "kind": "float", "dtype": "float32", "shape": ["batch", 3, 4, 4]}


def test_kinds():
    got = made(
        IDS,
        PIXELS,
        {"name": "mask", "kind": "ones", "dtype": "int64", "shape": ["batch", "seq"]},
        {"name": "bools", "kind": "zeros", "dtype": "bool", "shape": ["batch"]},
        {"name": "positions", "kind": "range", "dtype": "int64", "shape": ["batch", "seq"]},
        {"name": "grid", "kind": "value", "dtype": "int64", "value": [[1, 4, 4]], "per_batch": True},
    )
    assert got["input_ids"].shape == (2, 8)
    assert got["input_ids"].min() >= 5
    assert got["input_ids"].max() < 50
    assert got["pixel_values"].abs().max() <= 1
    assert got["pixel_values"].std() > 0.4
    assert got["mask"].dtype == torch.int64
    assert got["mask"].sum() == 16
    assert got["bools"].dtype == torch.bool
    assert got["positions"][1].tolist() == list(range(8))
    assert got["grid"].tolist() == [[1, 4, 4], [1, 4, 4]]


def test_seed_and_name_choose_the_stream():
    same, other = made(IDS)["input_ids"], made(IDS, seed=1)["input_ids"]
    assert torch.equal(same, made(IDS)["input_ids"])
    assert not torch.equal(same, other)
    assert not torch.equal(same, made({**IDS, "name": "decoder_input_ids"})["decoder_input_ids"])


def test_floats_take_the_cells_dtype_and_keep_their_numbers():
    wide, half = made(PIXELS)["pixel_values"], made(PIXELS, dtype=torch.bfloat16)["pixel_values"]
    assert half.dtype == torch.bfloat16
    assert torch.equal(wide.bfloat16(), half)


def test_a_point_sets_sizes_over_the_recipes():
    assert made(IDS, point={"batch": 3, "seq": 5, "image": 0})["input_ids"].shape == (3, 5)


def test_patches_know_their_row_and_column():
    spec = {**PIXELS, "shape": ["batch", 6, 5], "grid": 3}
    got, drawn = made(spec)["pixel_values"], made({**spec, "grid": 0})["pixel_values"]
    assert got[1, :, :2].tolist() == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]
    assert torch.equal(got[..., 2:], drawn[..., 2:])
    for wrong in ({"shape": ["batch"]}, {"shape": ["batch", 6, 1]}, {"grid": -1}):
        with pytest.raises(BadRecipe, match="not a grid"):
            made({**spec, **wrong})


def test_placed_ids():
    spec = {**IDS, "place": [{"id": 255, "at": 2, "count": "seq//2"}]}
    assert (made(spec)["input_ids"] == 255).sum(1).tolist() == [4, 4]
    with pytest.raises(BadRecipe, match="no room"):
        made({**IDS, "place": [{"id": 255, "at": 6, "count": 4}]})


@pytest.mark.parametrize(
    "spec",
    [
        {**IDS, "kind": "gaussian"},
        {**IDS, "dtype": "int65"},
        {**IDS, "low": 50},
        {**IDS, "shape": ["batch", "0-1"]},
        {**PIXELS, "shape": [1 << 20, 1 << 20]},
        {"name": "x", "kind": "range", "dtype": "int64", "shape": []},
    ],
)
def test_bad_specifications(spec):
    with pytest.raises(BadRecipe):
        made(spec)


def test_a_flat_range_counts_on_from_row_to_row():
    spec = {"name": "places", "kind": "range", "dtype": "int64", "shape": ["batch*2", 3]}
    assert made(spec, point={"batch": 1})["places"].tolist() == [[0, 1, 2], [0, 1, 2]]
    assert made({**spec, "flat": True}, point={"batch": 1})["places"].tolist() == [[0, 1, 2], [3, 4, 5]]
