"""Layouts in tensors are those that transformers computes in loops."""

from functools import partial
from inspect import signature
from types import SimpleNamespace

import pytest
import torch

from assay_runner.exporting import grids, resizing
from assay_runner.exporting.grids import Counting
from assay_runner.exporting.layout_answers import METHODS, OWN

vision = pytest.importorskip("transformers.vision_utils")

GRIDS = [
    torch.tensor([[1, 4, 4]]),
    torch.tensor([[2, 2, 4]]),
    torch.tensor([[1, 2, 8], [1, 6, 4]]),
    torch.tensor([[3, 4, 6], [1, 8, 2], [2, 2, 2]]),
]


def count(grid):
    return int(grid.prod(1).sum())


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("merge", [1, 2])
@pytest.mark.parametrize("temporal", [False, True])
def test_position_ids(grid, merge, temporal):
    own = vision.get_vision_position_ids(grid, merge, include_temporal=temporal)
    assert torch.equal(grids.position_ids(count(grid), grid, merge, temporal), own)


@pytest.mark.parametrize("grid", GRIDS)
def test_position_ids_of_images_with_merges_of_their_own(grid):
    merge = torch.tensor([1, 2, 2])[: len(grid)]
    assert torch.equal(grids.position_ids(count(grid), grid, merge), vision.get_vision_position_ids(grid, merge))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [False, True])
def test_interpolation(grid, mode, align):
    options = {"mode": mode, "align_corners": align}
    own = vision.get_vision_interpolation_indices_and_weights(grid, 7, spatial_merge_size=2, **options)
    found = grids.interpolation(count(grid), grid, 7, merge=2, **options)
    assert torch.equal(found[0], own[0])
    assert torch.equal(found[1], own[1])


@pytest.mark.parametrize("grid", [*GRIDS, torch.tensor([[1, 10, 12], [2, 6, 10]])])
@pytest.mark.parametrize("window", [56, 112])
def test_windows(grid, window):
    own, lengths = vision.get_vision_window_index(grid, 2, window, 14)
    order, first = grids.windows(count(grid) // 4, grid, 2, window, 14)
    assert torch.equal(order, own)
    ends = (first[1:] != first[:-1]).nonzero().flatten() + 1
    assert [0, *(ends * 4).tolist(), count(grid)] == lengths.tolist()


@pytest.mark.parametrize("grid", GRIDS)
def test_frames_are_segments(grid):
    found = grids.patches(grid, count(grid))
    ends = (found.start[1:] != found.start[:-1]).nonzero().flatten() + 1
    assert [0, *ends.tolist(), count(grid)] == vision.get_vision_cu_seqlens(grid).tolist()
    assert [0, *torch.bincount(found.image).cumsum(0).tolist()] == vision.get_vision_cu_seqlens(grid, True).tolist()


@pytest.mark.parametrize("sizes", [torch.tensor([[4, 4]]), torch.tensor([[3, 5], [7, 2]])])
def test_nearest_position_ids(sizes):
    own = vision.get_vision_nearest_position_ids(sizes, 70)
    assert torch.equal(grids.nearest_position_ids(int(sizes.prod(1).sum()), sizes, 70), own)


def rope(name):
    """A model's own way to count positions, without the model."""
    transformers = pytest.importorskip("transformers")
    auto = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    if name not in auto:
        pytest.skip(f"this transformers has no {name}")
    config = auto[name]()
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    return model.get_rope_index, config.vision_config.spatial_merge_size


@pytest.mark.parametrize(("name", "frames"), [("qwen2_vl", True), ("qwen3_vl", False), ("glm4v", True)])
def test_positions_of_texts_with_images(name, frames):
    own, merge = rope(name)
    grid = torch.tensor([[1, 2 * merge, merge], [1, merge, 3 * merge]])
    marks = torch.tensor([[0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0]])
    for mask in ([[1] * 8] * 2, [[1] * 6 + [0] * 2, [1] * 7 + [0]], [[0] + [1] * 7, [0, 0] + [1] * 6]):
        mask = torch.tensor(mask)
        expected, _ = own(torch.zeros_like(marks), marks, image_grid_thw=grid, attention_mask=mask)
        ways = [Counting(by, padding, merge) for by in (frames,) for padding in (0, 1)]
        found = [grids.rope_index(how, marks, mask, {1: grid}) for how in ways]
        assert any(torch.equal(one, expected) for one in found), (expected, found)


TABLE = torch.linspace(-1, 1, 5 * 5 * 8).sin().reshape(5, 5, 8)


def embeddings(kind, name):
    """The class that resizes a model's table of positions."""
    return getattr(pytest.importorskip(f"transformers.models.{kind}.modeling_{kind}"), name)


@pytest.mark.parametrize("sizes", [[[4, 4]], [[2, 8], [3, 3]], [[7, 2], [1, 16]]])
def test_tables_resized_for_padded_images(sizes):
    sizes = torch.tensor(sizes)
    own = embeddings("siglip2", "Siglip2VisionEmbeddings").resize_positional_embeddings(TABLE, sizes, 16)
    assert torch.allclose(resizing.padded(TABLE, 16, sizes), own, atol=1e-5)


@pytest.mark.parametrize("grid", GRIDS)
def test_tables_resized_for_packed_images(grid):
    own = embeddings("cosmos3_edge", "Cosmos3EdgeVisionEmbeddings").resize_positional_embeddings(TABLE, grid, 2)
    assert torch.allclose(resizing.packed(TABLE, count(grid), grid, 2), own, atol=1e-5)


@pytest.mark.parametrize("sizes", [[[4, 4]], [[2, 8], [6, 4]], [[3, 5], [1, 1], [9, 2]]])
def test_tables_cropped_and_patches_behind_prefixes(sizes):
    radio = pytest.importorskip("transformers.models.radio.modeling_radio")
    config = radio.RadioConfig(hidden_size=8, patch_size=2, max_img_size=10, num_attention_heads=2)
    torch.manual_seed(1)
    part = radio.RadioPatchEmbeddings(config)
    for weight in part.parameters():
        torch.nn.init.normal_(weight)
    sizes = torch.tensor(sizes)
    pixels = torch.randn(int(sizes.prod(1).sum()), config.patch_dim)
    with torch.no_grad():
        own = part._embed_packed_patches(pixels, sizes)
        table = part.position_embedding.reshape(part.max_rows, part.max_cols, -1)
        placed = part.patch_projection(pixels) + resizing.cropped(table, len(pixels), sizes)
        found = resizing.behind_prefixes(placed, part.cls_register_token, sizes)
    assert torch.allclose(found[None], own, atol=1e-5)


def test_shuffles_of_traced_sizes():
    """What is told a share of the sides is answered; any other method of that name stays as it is."""
    omni = pytest.importorskip("transformers.models.nemotron_h_omni.modeling_nemotron_h_omni")
    smol = pytest.importorskip("transformers.models.smolvlm.modeling_smolvlm")
    share, factor = omni.NemotronH_Omni_Reasoning_V3.pixel_shuffle, smol.SmolVLMConnector.pixel_shuffle
    for own, states, told in (
        (share, torch.randn(1, 4, 6, 8), 0.5),
        (share, torch.randn(2, 8, 4, 8), 0.25),
        (factor, torch.randn(3, 16, 8), 2),
    ):
        method = partial(own, None)
        given = signature(method).bind(states, told)
        assert torch.equal(METHODS["pixel_shuffle"](method, None, given), method(states, told))


def framed(rows, columns, height, width):
    """A mask of patches of two by two pixels that shows this much at the upper left."""
    mask = torch.zeros(2 * rows, 2 * columns, dtype=torch.int64)
    mask[: 2 * height, : 2 * width] = 1
    return mask


@pytest.mark.parametrize("sizes", [[(4, 6)], [(4, 6), (2, 3)], [(1, 6), (4, 6)], [(4, 1), (3, 2), (4, 6)]])
@pytest.mark.parametrize("room", [-1, 200])
def test_patches_of_frames(sizes, room):
    """Every patch that the model keeps is there, with its place; whatever else is there is hidden."""
    vilt = pytest.importorskip("transformers.models.vilt.modeling_vilt")
    config = vilt.ViltConfig(hidden_size=8, image_size=10, patch_size=2, num_attention_heads=2)
    torch.manual_seed(1)
    part = vilt.ViltEmbeddings(config).eval()
    for weight in part.parameters():
        torch.nn.init.normal_(weight)
    pixels, mask = torch.randn(len(sizes), 3, 8, 12), torch.stack([framed(4, 6, *size) for size in sizes])
    given = signature(part.visual_embed).bind(pixels, mask, room)
    with torch.no_grad():
        own, seen, (at, _) = part.visual_embed(pixels, mask, room)
        found, shown, (index, form) = METHODS["visual_embed"](part.visual_embed, (own, seen), given)
    assert form == (4, 6)
    assert torch.equal(index[0], torch.cartesian_prod(torch.arange(4), torch.arange(6)))
    assert shown.sum(1).tolist() == seen.sum(1).tolist()
    for row, (height, width) in enumerate(sizes):
        kept = seen[row] != 0
        place = torch.cat([torch.zeros(1, dtype=torch.int64), 1 + at[row, :, 0] * 6 + at[row, :, 1]])
        assert kept.sum() == 1 + height * width
        assert bool(shown[row, place[kept]].all())
        assert torch.allclose(found[row, place[kept]], own[row, kept], atol=1e-5)


def test_patches_that_are_drawn_are_left_to_the_model():
    vilt = pytest.importorskip("transformers.models.vilt.modeling_vilt")
    part = vilt.ViltEmbeddings(vilt.ViltConfig(hidden_size=8, image_size=8, patch_size=2, num_attention_heads=2)).eval()
    given = signature(part.visual_embed).bind(torch.randn(1, 3, 8, 8), torch.ones(1, 8, 8, dtype=torch.int64), 5)
    own = part.visual_embed(*given.args)
    assert METHODS["visual_embed"](part.visual_embed, own, given)[0].shape == own[0].shape == (1, 6, 8)


@pytest.mark.parametrize("grid", [*GRIDS, torch.tensor([[1, 2, 4], [4, 4, 2], [1, 2, 2], [5, 2, 2]])])
def test_pairs_of_frames(grid):
    ernie = pytest.importorskip("transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe")
    part = SimpleNamespace(spatial_merge_size=2)
    states = torch.arange(count(grid) // 4)[:, None]
    own = ernie.Ernie4_5_VLMoeVariableResolutionResamplerModel._temporal_slicing(part, states, grid)
    first, second = grids.frame_pairs(len(own), grid, 2)
    assert torch.equal(torch.stack([first, second], dim=1), own)


def of_models(name, *args):
    """What a function of a model's own answers, and what is answered in its place."""
    modules = ("kimi_k25", "kimi_k25"), ("muse_glimmer", "muse_glimmer"), ("muse_spark", "muse_spark")
    for folder, file in modules:
        module = pytest.importorskip(f"transformers.models.{folder}.modeling_{file}")
        if own := getattr(module, name, None):
            given = signature(own).bind(*args)
            yield own(*args), OWN[name](own(*args), given)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("get_vision_frame_index", ()),
        ("get_vision_pixel_shuffle_index", (2,)),
        ("get_vision_pixel_shuffle_index", (1,)),
        ("get_vision_temporal_merge_index", (2, 2)),
        ("get_vision_temporal_merge_index", (1, 2)),
    ],
)
@pytest.mark.parametrize("grid", [*GRIDS, torch.tensor([[2, 4, 6], [2, 2, 8]])])
def test_orders_that_models_make_themselves(name, told, grid):
    if name == "get_vision_temporal_merge_index" and len(set(grid[:, 0].tolist())) > 1:
        pytest.skip("the library merges clips of one length only")
    found = list(of_models(name, grid, *told))
    assert found
    for own, answer in found:
        assert torch.equal(answer, own)
