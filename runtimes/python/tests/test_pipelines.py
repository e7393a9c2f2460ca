"""Diffusion pipelines: really built, tiny and offline, and run from prompt to picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from torch_emit import Emit, job

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("diffusers")

from assay_runner.checking import control, tolerances  # noqa: E402
from assay_runner.engines.torch import engine  # noqa: E402
from assay_runner.subjects import inputs, outputs  # noqa: E402
from assay_runner.subjects.diffusion import drawing  # noqa: E402
from assay_runner.subjects.pipelines import drafting as pipelines  # noqa: E402
from assay_runner.subjects.pipelines import pipeline_recipes  # noqa: E402
from assay_runner.subjects.programs import building  # noqa: E402
from assay_runner.subjects.recipes import making  # noqa: E402

FILE = Path(__file__).parents[3] / "internal/catalog/data/pipeline_recipes.json"
RECIPES = {(row["type"], row["task"]): row for row in pipeline_recipes.read(FILE)}
QUICK = [("ddpm", "unconditional-image-generation"), ("flux", "text-to-image"), ("stable-audio", "text-to-audio")]

# In whose images the control network outweighs the rest: only another input shows what must be seen.
UNDAMAGED = {"stable-diffusion-controlnet", "stable-diffusion-xl-controlnet"}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(recipe: dict, seed: int = 0, batch: int = 1, dtype=torch.float32) -> outputs.Tensors:
    model = building.build(recipe, dtype, seed).model
    given = inputs.make(recipe, {"batch": batch}, seed, dtype)
    with torch.no_grad():
        return outputs.flatten(model(**given, **recipe["call"]))


def sound(found: outputs.Tensors, batch: int) -> bool:
    """Numbers that are numbers, as many as were asked for, and not all the same."""
    first = next(iter(found.values()))
    return first.shape[0] == batch and bool(torch.isfinite(first).all()) and not outputs.constant(found)


def checked(recipe: dict, dtype: str, batch: int = 2) -> dict:
    """The report of a check, as the engine makes it for any cell."""
    emit = Emit()
    engine.run(job(recipe, points=({"batch": batch},), dtype=dtype, size="tiny"), emit)
    return emit.reports[0]


def check_all(recipe: dict) -> None:
    for batch in (1, 2, 3):
        assert sound(run(recipe, batch=batch), batch)
    report = checked(recipe, "fp32")
    assert report["finite"] and report["numerics"]["pass"] and report["numerics"]["control"]["pass"], report["numerics"]


@pytest.mark.parametrize("which", QUICK, ids=lambda which: which[0])
def test_a_pipeline_runs_and_its_check_can_fail(which: tuple[str, str]) -> None:
    check_all(RECIPES[which])


@pytest.mark.full
@pytest.mark.parametrize("which", [key for key in RECIPES if key not in QUICK], ids="-".join)
def test_every_pipeline_runs_and_its_check_can_fail(which: tuple[str, str]) -> None:
    check_all(RECIPES[which])


def test_every_pipeline_knows_how_far_rounding_and_damage_move_it() -> None:
    for recipe in RECIPES.values():
        exact = recipe["rounding"]["fp32"]
        assert exact and all(0 <= far < 1e-3 for row in exact.values() for far in row), recipe["class"]
        effects = [row["effect"] for row in recipe["damages"]]
        assert effects == sorted(effects), recipe["class"]
    limits = {which: tolerances.Tolerance(1e-3, tolerances.known(row, "fp32")) for which, row in RECIPES.items()}
    kinds = {which: control.choose(RECIPES[which], limit.loosest()) for which, limit in limits.items()}
    assert {which[0] for which, kind in kinds.items() if kind == control.OTHER_INPUT} == UNDAMAGED
    told = (FILE.parents[3] / "docs/pipelines.md").read_text(encoding="utf-8")
    for (model_type, task), kind in kinds.items():
        row = next(line for line in told.splitlines() if line.startswith(f"| {model_type} | {task} |"))
        assert f" | {kind} | " in row


def test_a_pipeline_is_allowed_what_its_rounding_asks_for() -> None:
    recipe = RECIPES[QUICK[0]]
    numbers = checked(recipe, "fp32", batch=1)["numerics"]
    (most, _), *_ = recipe["rounding"]["fp32"].values()
    assert numbers["pass"] and numbers["tolerance"] == pytest.approx(20 * most)
    assert numbers["control"]["pass"] and numbers["control"]["kind"] == recipe["damages"][0]["kind"]


def test_a_pipeline_that_is_a_little_off_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a tenth of what the table would allow."""
    forward = engine.checks._run

    def off(*given: Any) -> Any:
        found, ms = forward(*given)
        return {name: t + 1e-4 * t.abs().max() for name, t in found.items()}, ms

    monkeypatch.setattr(engine.checks, "_run", off)
    assert not checked(RECIPES[QUICK[0]], "fp32", batch=1)["numerics"]["pass"]


def test_what_recipes_are_judged_by_is_found_again(tmp_path: Path) -> None:
    """Of the types that are named, and of no others; a pipeline is not made again for it."""
    chosen, other = RECIPES[QUICK[0]], RECIPES[QUICK[1]]
    judged = ("rounding", "damages", "unmoved")
    bare = {name: value for name, value in chosen.items() if name not in judged}
    file = tmp_path / "recipes.json"
    pipeline_recipes.write([bare, {**other, "rounding": {}}], file)
    assert pipeline_recipes.main(["--judge", "--types", chosen["type"], "--out", str(file), "--workers", "1"]) == 0
    found, kept = pipeline_recipes.read(file)
    assert kept == {**other, "rounding": {}}
    assert list(found) == list(chosen)
    assert {name: value for name, value in found.items() if name not in judged} == bare
    for name, row in chosen["rounding"]["fp32"].items():
        assert found["rounding"]["fp32"][name] == pytest.approx(row, rel=1.0)


def test_enough_pipelines_of_every_kind() -> None:
    assert len(RECIPES) >= 20
    assert {"text-to-image", "image-to-image", "inpainting", "text-to-video", "text-to-audio"} <= {
        k[1] for k in RECIPES
    }


def test_same_seed_same_bits_and_another_seed_others() -> None:
    recipe = RECIPES["flux", "text-to-image"]
    one, two, other = (outputs.digest(run(recipe, seed)) for seed in (0, 0, 1))
    assert one == two != other


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_half_precision_agrees(dtype: str) -> None:
    report = checked(RECIPES["flux", "text-to-image"], dtype)
    assert report["numerics"]["pass"] and report["outputs"][0]["shape"] == [2, 3, 32, 32]


def nearly(one: Any, other: Any) -> bool:
    """Whether two recipes are the same, but for the last digits of what was measured: processors round differently."""
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=0.5)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(nearly, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(nearly(value, other[name]) for name, value in one.items())
    return bool(one == other)


def test_same_recipe_again() -> None:
    again, known = json.loads(json.dumps(making.tiny("ddpm"))), RECIPES["ddpm", "unconditional-image-generation"]
    assert nearly(again, known)
    assert not nearly(again | {"steps": 99}, known) and not nearly(again | {"rounding": {}}, known)
    assert list(again) == [key for key in pipelines.ORDER if key in again]


@pytest.mark.full
def test_same_recipes_again() -> None:
    for which in [("stable-diffusion", "inpainting"), ("sana", "text-to-image"), ("wan", "text-to-video")]:
        assert nearly(json.loads(json.dumps(making.tiny(*which))), RECIPES[which])


def test_noise_is_the_same_in_every_dtype_and_another_for_another_key() -> None:
    from diffusers.utils import torch_utils

    def drawn(key: str, dtype) -> torch.Tensor:
        with drawing.drawn_by_rule(key):
            return torch_utils.randn_tensor((4, 64), dtype=dtype)

    wide, narrow, other = drawn("1", torch.float64), drawn("1", torch.bfloat16), drawn("2", torch.float64)
    assert torch.equal(wide.bfloat16(), narrow) and not torch.equal(wide, other)
    assert abs(float(wide.mean())) < 0.2 and abs(float(wide.std()) - 1) < 0.1
    assert torch_utils.randn_tensor.__module__.startswith("diffusers")
