"""Whose error it is, and which private names of libraries are there."""

import ast
import errno
import re
import types
from pathlib import Path

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

import assay_runner
from assay_runner.engines.graphs import driver
from assay_runner.errors import ExportFailed, HarnessError, TooLarge
from assay_runner.exporting import exporters, masks, trying
from assay_runner.exporting.store import MANIFEST
from assay_runner.process import blame, child, private

PACKAGE = Path(assay_runner.__file__).parent


def raised(source, filename, **names):
    """The error that code raises in a file of that name."""
    try:
        exec(compile(source, str(filename), "exec"), {"__name__": "x", **names})
    except Exception as error:
        return error
    raise AssertionError("it raised nothing")


OWN, LIBRARY = PACKAGE / "exporting" / "exporters.py", "/site-packages/torch/onnx/core.py"
MODEL = "/site-packages/transformers/models/bert/modeling_bert.py"


@pytest.mark.parametrize(
    ("source", "file", "own"),
    [
        ("from torch.onnx._internal.exporter import NoSuchThing", OWN, True),
        ("import transformers.no_such_module", OWN, True),
        ("import torch\ntorch.no_such_name", OWN, True),
        ("no_such_name", OWN, True),
        ("def library(): ...\nlibrary(old_name=1)", OWN, True),
        ("import nobody_has_this", OWN, False),  # a missing dependency
        ("None.attribute", OWN, False),
        ("def forward(x): ...\nforward(bbox=1)", OWN, False),  # the recipe's, or the model's
        ("raise ValueError('x')", OWN, False),
        ("import torch\ntorch.no_such_name", MODEL, False),
        ("from transformers.utils import NoSuchThing", MODEL, False),
        ("import torch\ntorch.no_such_name", LIBRARY, False),
    ],
)
def test_whose_error_it_is(source, file, own):
    error = raised(source, file)
    assert isinstance(blame.named(error), HarnessError) is own
    assert isinstance(blame.blamed(error), HarnessError) is own


def test_a_library_that_breaks_while_it_is_imported_is_no_models_fault():
    """ImportError of the library's own internals, below an import of this package's."""
    inner = compile("from torch._C import NoSuchThing", LIBRARY, "exec")
    assert isinstance(blame.named(raised("exec(inner)", OWN, inner=inner)), HarnessError)
    inner = compile("from torch._C import NoSuchThing", MODEL, "exec")
    assert not isinstance(blame.named(raised("exec(inner)", OWN, inner=inner)), HarnessError)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), MemoryError), (OSError(28, "No space left on device"), OSError), (TooLarge("x"), MemoryError),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), MemoryError),
    ],
)  # fmt: skip
def test_what_the_machine_lacks_is_no_verdict(error, kind):
    assert isinstance(blame.blamed(error), kind)


@pytest.mark.parametrize("name", ["ENOSPC", "EIO", "EMFILE", "ENFILE", "EDQUOT", "EROFS", "EACCES", "ENOMEM"])
def test_what_the_system_refuses_is_no_verdict(name):
    assert isinstance(blame.blamed(OSError(getattr(errno, name), "x")), OSError)


@pytest.mark.parametrize(
    "error",
    [
        OSError("it has no file named model.safetensors"),
        FileNotFoundError(errno.ENOENT, "x"),
        ConnectionResetError(errno.ECONNRESET, "x"),
    ],
)
def test_an_oserror_of_a_librarys_own_is_a_verdict(error):
    assert blame.blamed(error) is None


@pytest.mark.parametrize(("end", "blames"), [("", True), (" from None", False)])
def test_what_an_error_hides_is_not_blamed(end, blames):
    """`from None` says that what was being handled has nothing to do with it."""
    error = raised(f"try:\n    raise MemoryError\nexcept MemoryError:\n    raise ValueError('x'){end}", LIBRARY)
    assert isinstance(blame.blamed(error), MemoryError) is blames


def breaking(monkeypatch, source, file=OWN):
    """Both exporters run this code, as if it stood in that file."""
    code = compile(source, str(file), "exec")
    broken = exporters.Exporter(lambda: True, lambda: "broken", lambda subject: exec(code, {}))
    way = [trying.Way(broken, frozenset())]
    monkeypatch.setattr(trying, "possible", lambda *_: way)


def run(exports):
    asked = job(torch_recipes.BERT, "check", platform="cpu", device="", engine="onnxruntime")
    driver.run(asked | {"options": {"exports": str(exports)}}, Emit())


def kept(exports):
    return list(Path(exports).rglob(MANIFEST))


def test_breakage_of_a_library_is_not_kept_as_the_models(monkeypatch, tmp_path):
    breaking(monkeypatch, "from torch.onnx._internal.exporter import NoSuchThing")
    with pytest.raises(HarnessError, match=r"NoSuchThing.*exporting/exporters\.py"):
        run(tmp_path)
    assert kept(tmp_path) == []


def test_what_the_model_cannot_is_kept(monkeypatch, tmp_path):
    breaking(monkeypatch, "raise RuntimeError('data-dependent')", MODEL)
    for _ in range(2):
        with pytest.raises(ExportFailed, match="no exporter could write this model"):
            run(tmp_path)
    assert len(kept(tmp_path)) == 1


def test_a_child_reports_it_under_its_own_name(monkeypatch):
    def broken(job, emit):
        raise raised("import torch\ntorch.no_such_name", OWN)

    monkeypatch.setattr(child, "_find", lambda path, emit: broken)
    said = []
    assert child.execute({"kind": "noop"}, types.SimpleNamespace(failure=said.append)) == 1
    assert isinstance(said[0], HarnessError)
    assert isinstance(said[0].__cause__, AttributeError)


def test_the_installed_libraries_have_every_private_name():
    assert private.missing() == {}


def test_a_name_that_is_gone_is_told(monkeypatch, tmp_path):
    library = tmp_path / "torch"
    (library / "inner").mkdir(parents=True)
    (library / "__init__.py").write_text("raise ImportError('it must not be imported')")
    (library / "inner" / "_deep.py").write_text("from x import (\n    is_there,\n)\n# gone\nuse(gone, self.gone)\n")
    names = tuple(private.Name("torch.inner._deep", name, "somewhere") for name in ("is_there", "gone", ""))
    other = private.Name("nobody_has_this.inner", "x", "nowhere")
    monkeypatch.setattr(private, "NAMES", (*names, private.Name("torch.outer", "", "elsewhere"), other))
    found = types.SimpleNamespace(submodule_search_locations=[str(library)])
    monkeypatch.setattr(private, "find_spec", lambda name: found if name == "torch" else None)
    assert private.missing() == {"torch.inner._deep.gone": "somewhere", "torch.outer": "elsewhere"}


def test_the_table_has_every_private_import():
    """A new import of something private that nobody wrote into the table fails here."""
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                for alias in node.names:
                    found.add((node.module, alias.name))
    libraries = ("torch", "transformers", "onnxscript", "onnx", "onnxruntime", "openvino", "nncf", "diffusers")
    hidden = re.compile(r"(?:^|\.)_(?!_)")
    used = {f"{m}.{n}" for m, n in found if m.split(".")[0] in libraries and hidden.search(f"{m}.{n}")}
    known = {str(name) for name in private.NAMES} | {name.module for name in private.NAMES}
    assert {name for name in used if name not in known} == set()


def test_torch_has_what_no_file_tells():
    """What the C part of torch defines is in no file that could be read."""
    assert hasattr(torch.UntypedStorage, "_new_with_weak_ptr")
    assert hasattr(torch.Tensor, "_is_all_true")


def test_a_release_without_masking_utils_is_exported_all_the_same(monkeypatch):
    """Releases before 4.53 have no such module: no model of theirs could be written."""
    monkeypatch.setattr(masks, "find_spec", lambda name: None if name == "transformers.masking_utils" else "there")
    monkeypatch.setattr(masks, "import_module", lambda name: pytest.fail(f"{name} is not there"))
    with masks.decided():
        pass
