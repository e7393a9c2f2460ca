"""Derived verdicts: torch's table against its own dispatcher, rules, and answers for real recipes."""

import json
import pathlib

import pytest
import torch
import torch_recipes
from torch_emit import Emit

from assay_runner import jobs
from assay_runner.derive import answer, dispatch, listed, platforms, unlisted
from assay_runner.derive.dispatch import COMPOSED, Table
from assay_runner.derive.judge import Row, judge
from assay_runner.derive.size_limits import Limits
from assay_runner.errors import BadRecipe
from assay_runner.facts.trace import Trace, plainly

CATALOGUE = pathlib.Path(__file__).parents[3] / "internal/catalog/data/recipes.json"
COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


def recipe(model_type):
    rows = json.loads(CATALOGUE.read_text())["recipes"]
    return next(r for r in rows if r["type"] == model_type and r["size"] == "tiny")


@pytest.fixture(scope="module")
def table():
    return dispatch.table()


def schema_name(operator):
    _, name, overload = operator.split(".")
    return f"aten::{name}" + ("" if overload == "default" else f".{overload}")


def registered(operator, key):
    return any(
        torch._C._dispatch_has_kernel_for_dispatch_key(schema_name(operator), k) for k in (key, *COMPOSITES)
    )  # fmt: skip


@pytest.mark.parametrize("key", ["CPU", pytest.param("CUDA", marks=pytest.mark.skipif(
    not torch.version.cuda, reason="a build without CUDA registers no kernels of it"))])  # fmt: skip
def test_the_table_says_what_the_dispatcher_of_this_build_has(table, key):
    differ = [name for name in table.operators if table.has(name, key) != registered(name, key)]
    assert len(table.operators) > 2000
    assert len(differ) <= len(table.operators) / 200, differ


def test_the_table_tells_devices_apart(table):
    assert table.has("aten.addmm.default", "MPS")  # by its out-variant
    assert table.has("aten._lstm_mps.default", "MPS")
    assert not table.has("aten._lstm_mps.default", "CUDA")
    assert table.has("aten.matmul.default", "MPS")  # composed of others
    assert table.has("torchvision.nms.default", "MPS") is None


def test_the_table_is_kept_and_a_broken_file_is_made_anew(table, tmp_path):
    assert dispatch.table(str(tmp_path)) == table
    (file,) = tmp_path.iterdir()
    assert dispatch._kept(file) == table
    for broken in ("", "{", "[]", '{"torch": "0.1", "operators": {"aten.mm.default": ["CPU"]}}', '{"operators": 1}'):
        file.write_text(broken)
        assert dispatch.table(str(tmp_path)) == table
        assert dispatch._kept(file) == table


def test_a_folder_that_cannot_be_written_costs_nothing(table, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert dispatch.table(str(blocked / "below")) == table


def test_every_stand_in_has_a_kernel_where_it_stands(table):
    for name, target in unlisted.TARGETS.items():
        there = listed.table(name) if name in listed.LISTS else table
        for own, instead in target.instead.items():
            assert table.has(own, "CPU")
            assert there.has(instead, target.key), (target.title, instead)


@pytest.mark.parametrize("engine", listed.LISTS)
def test_engines_list_what_they_take(engine):
    there = listed.table(engine)
    assert len(there.operators) > 200
    assert there.has("aten.addmm.default", "")
    assert there.has("aten.add_.Tensor", "")  # written as the one that changes nothing
    assert there.has("aten.linalg_svd.default", "")  # taken apart
    assert there.has("aten._linalg_svd.default", "") is False  # what it is taken apart into
    assert there.has("some.operator.default", "") is None
    assert listed.LISTS[engine][0] in there.lacking("")


def test_engines_are_judged_by_their_own_lists():
    got = platforms.of(recipe("fnet"), {"batch": 1}, "fp32", ["onnxruntime", "openvino"])["targets"]
    assert got["onnxruntime"]["verdict"] == "works"
    assert got["openvino"]["operators"][0]["operator"] == "aten._fft_c2c.default"


SMALL = Table("2.0", {
    "aten.mm.default": ("CPU", "CUDA", "MPS"), "aten.view.default": (COMPOSED,), "aten.mode.default": ("CPU", "CUDA"),
    "aten.linalg_svd.default": (COMPOSED,),
    "aten._scaled_dot_product_flash_attention_for_cpu.default": ("CPU",),
    "aten._scaled_dot_product_attention_math_for_mps.default": ("MPS",),
})  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "verdict", "kind", "names"),
    [
        ([("aten.mm.default", ("float32", "float32"))], "works", "", []),
        ([], "works", "", []),
        ([("aten.view.default", ("float16",))], "works", "", []),
        ([("aten._scaled_dot_product_flash_attention_for_cpu.default", ("float16",))], "works", "", []),
        ([("aten.mode.default", ("float32",))], "fails", "unsupported-operator", ["aten.mode.default"]),
        ([("torchvision.nms.default", ("float32",))], "fails", "unsupported-operator", ["torchvision.nms.default"]),
        ([("aten.view.default", ("float64",))], "fails", "unsupported-dtype", ["aten.view.default"]),
        ([("aten.view.default", ("complex128",))], "fails", "unsupported-dtype", ["aten.view.default"]),
        ([("aten.mm.default", ("float32", "float16"))], "fails", "unsupported-dtype", ["aten.mm.default"]),
        ([("aten.linalg_svd.default", ("float32",))], "partial", "", ["aten.linalg_svd.default"]),
    ],
)
def test_verdicts_on_mps(rows, verdict, kind, names):
    census = [Row(name, dtypes, 2) for name, dtypes in rows] * 2
    got = judge(census, unlisted.TARGETS["mps"], SMALL).report()
    assert (got["verdict"], got["class"], [f["operator"] for f in got["operators"]]) == (verdict, kind, names)
    assert all(f["count"] == 4 and f["why"] for f in got["operators"])


def test_an_operator_that_is_missing_comes_before_a_dtype_and_the_frequent_first():
    rows = [
        Row("aten.view.default", ("float64",), 9),
        Row("aten.mode.default", ("float32",), 1),
        Row("x.y.default", (), 5),
    ]
    got = judge(rows, unlisted.TARGETS["mps"], SMALL).report()
    assert got["class"] == "unsupported-operator"
    assert [(f["operator"], f["count"]) for f in got["operators"]] == [("x.y.default", 5), ("aten.mode.default", 1)]


@pytest.mark.parametrize(
    ("given", "wanted", "refused"), [(12, 6, 0), (8, 6, 1), (6, 6, 0), (3, 6, 0), (4, 6, 1), (7, 1, 0)]
)
def test_a_pooling_that_does_not_divide_is_refused_on_mps(given, wanted, refused):
    book = Limits()
    with Trace(plainly, [book]):
        torch.ops.aten._adaptive_avg_pool2d(torch.ones(1, 2, given, given), [wanted, wanted])
    assert [f.count for f in book.found("mps")] == [1] * refused
    assert book.found("rocm") == []
    assert judge([], unlisted.TARGETS["mps"], SMALL, book.found("mps")).report()["verdict"] == (
        "fails" if refused else "works"
    )


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_a_plain_model_works_everywhere(dtype):
    got = platforms.of(torch_recipes.BERT, {"batch": 1}, dtype, ["mps", "rocm", "cuda", "cpu"])
    assert got["evidence"] == "derived"
    assert got["torch"] == torch.__version__
    assert got["method"] == "shapes"
    assert got["dtype"] == {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}[dtype]
    assert got["calls"] > got["operators"] > 5
    assert {name: row["verdict"] for name, row in got["targets"].items()} == dict.fromkeys(
        ("mps", "rocm", "cuda", "cpu"), "works"
    )


def test_dtypes_that_do_not_go_together_fail_everywhere():
    got = platforms.of(recipe("deberta"), {"batch": 1}, "fp16", ["mps", "rocm", "cpu"])
    assert (got["dtype"], got["method"], got["calls"]) == ("float16", None, 0)  # it went no further
    for row in got["targets"].values():
        assert (row["verdict"], row["class"]) == ("fails", "unsupported-dtype")
        assert "modeling_deberta.py" in row["why"]


def test_what_only_the_cpu_refuses_is_not_said_of_others():
    got = platforms.of(recipe("fnet"), {"batch": 1}, "fp16", ["mps", "cpu"])["targets"]
    assert got["cpu"]["verdict"] == "fails"
    assert got["mps"]["verdict"] is None
    assert "Unsupported dtype Half" in got["mps"]["why"]


def test_a_model_that_looks_at_values_is_judged_by_its_operators():
    got = platforms.of(recipe("bart"), {"batch": 1}, "fp16", ["mps", "cpu"])
    assert got["dtype"] == "float32"
    assert [row["verdict"] for row in got["targets"].values()] == ["works", "works"]


@pytest.mark.full  # it is run three times
def test_a_model_that_needs_its_values_is_run_for_its_dtypes():
    got = platforms.of(recipe("fastspeech2_conformer"), {"batch": 1}, "fp16", ["rocm"])
    assert got["targets"]["rocm"]["class"] == "unsupported-dtype"
    assert got["targets"]["rocm"]["why"].startswith("run on the CPU: RuntimeError: Input type")
    alone = platforms.of(recipe("fastspeech2_conformer"), {"batch": 1}, "fp16", ["cpu"])
    assert alone["targets"]["cpu"]["verdict"] == "works"  # what the CPU itself says is not a derivation


def test_what_cannot_be_seen_has_no_verdict():
    unseen = torch_recipes.BERT | {"size": "full", "program": "generate"}
    (row,) = platforms.of(unseen, {"batch": 1}, "fp32", ["mps"])["targets"].values()
    assert row["verdict"] is None
    assert "more than one forward" in row["why"]


def test_jobs(tmp_path):
    emit = Emit()
    job = {
        "kind": "derive",
        "cell": {"type": "bert", "dtype": "bf16"},
        "recipe": torch_recipes.BERT,
        "points": [{"batch": 1}],
        "options": {"platforms": ["rocm"], "tables": str(tmp_path)},
    }
    assert jobs.function_for(job) == "derive.answer"
    answer(job, emit)
    assert list(emit.answer["targets"]) == ["rocm"]
    assert list(tmp_path.iterdir())
    with pytest.raises(BadRecipe, match="none of the platforms"):
        answer(job | {"options": {"platforms": ["abacus"]}}, Emit())
    with pytest.raises(BadRecipe, match="no recipe"):
        answer(job | {"recipe": {}}, Emit())
