"""Guises: what a model computes on a device that is not here, and what it asks of it."""

import pytest
import torch
from test_derive import recipe
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from assay_runner.derive import platforms
from assay_runner.facts import forwards
from assay_runner.facts.guise import Guise, OnDevice, present
from assay_runner.facts.trace import Trace, plainly


class Seen:
    """A book of operators with the dtypes of their tensors."""

    def __init__(self):
        self.rows = []

    def see(self, call):
        self.rows.append((call.name.split(".")[1], *(t.dtype for t in call.inputs)))

    @property
    def names(self):
        return [row[0] for row in self.rows]

    def doubles(self):
        return [row for row in self.rows if torch.float64 in row]


def traced(run, *tensors):
    """What `run` computes on the device when these tensors are there, and what comes out."""
    book = Seen()
    with torch.no_grad(), present("mps"), Guise("mps") as guise, Trace(plainly, [OnDevice(book, guise)]):
        guise.put(tensors)
        found = run(*tensors)
    return book, found


def rotation(x):
    """As libraries do it: in float64, but not on MPS."""
    wide = torch.float32 if x.device.type == "mps" else torch.float64
    return x * torch.arange(3, dtype=wide, device=x.device).cos().to(x.dtype)


def test_code_that_asks_goes_the_way_of_the_device():
    book, found = traced(rotation, torch.ones(2, 3))
    assert book.doubles() == []
    assert book.names == ["arange", "cos", "mul"]
    assert torch.allclose(found, rotation(torch.ones(2, 3)))
    assert found.device.type == "cpu"  # outside nothing pretends


def test_a_dtype_that_nobody_avoids_is_seen():
    book, _ = traced(lambda x: x.double() + 1, torch.ones(3))
    assert [row[0] for row in book.doubles()] == ["add"]


@pytest.mark.parametrize("by", ["to", "device", "str", "of"])
def test_a_table_of_the_cpu_comes_to_the_device_in_another_dtype(by):
    def run(x):
        table = torch.linspace(0, 1, 3, dtype=torch.float64).cumsum(0)
        there = {
            "to": lambda: table.to(x.device, torch.float32),
            "device": lambda: table.to(device=x.device, dtype=torch.float32),
            "str": lambda: table.to("mps", dtype=torch.float32),
            "of": lambda: table.float().to(x.device),
        }[by]()
        assert (table.device.type, there.device.type) == ("cpu", "mps")
        return x + there

    book, found = traced(run, torch.ones(3))
    assert book.names == ["add"]
    assert found.tolist() == [1, 1.5, 2.5]


def test_a_table_that_comes_as_it_is_is_refused():
    book, _ = traced(lambda x: (torch.ones(3, dtype=torch.float64).to(x.device) * 2).float() + x, torch.ones(3))
    assert {row[0] for row in book.doubles()} == {"mul", "_to_copy"}


def test_a_value_from_the_cpu_is_a_number_on_the_device():
    def run(x, step):
        return x * torch.ones(3, dtype=torch.float64)[step] ** 0.5

    book, _ = traced(run, torch.ones(3), torch.tensor(1))
    assert book.names == ["mul"]
    assert book.doubles() == []


def test_tensors_say_where_they_are():
    def run(x):
        home = x.cpu()
        back = home.to(x.device)
        assert (x.is_mps, x.is_cpu, x.device) == (True, False, torch.device("mps:0"))
        assert (home.is_mps, home.is_cpu, home.device.type) == (False, True, "cpu")
        assert back.device == x.view(-1).device == (home.to(x) + 1).device == home.type_as(x).device == x.device
        assert (home + 1).device.type == torch.ones(1).device.type == "cpu"
        assert torch.backends.mps.is_available()
        return torch.ones(2, device="mps")

    was = torch.backends.mps.is_available()
    _, found = traced(run, torch.ones(3))
    assert found.tolist() == [1, 1]
    assert torch.backends.mps.is_available() is was


def test_tensors_without_memory_say_so_too():
    own = FakeTensor.device
    with FakeTensorMode(allow_non_fake_inputs=True):
        empty = torch.empty(2, 3)
        book, found = traced(rotation, empty)
    assert book.doubles() == []
    assert (found.shape, found.device.type) == ((2, 3), "cpu")
    assert FakeTensor.device is own


def test_an_error_inside_leaves_nothing_behind():
    own = FakeTensor.device
    with pytest.raises(ZeroDivisionError):
        traced(lambda x: 1 / 0, torch.ones(1))
    assert FakeTensor.device is own
    assert torch.ones(1).device.type == "cpu"


def test_a_forward_in_a_guise_has_the_same_operators_where_nothing_asks():
    plain = forwards.see(recipe("bert"), {"batch": 1})
    there = forwards.see(recipe("bert"), {"batch": 1}, device="mps")
    assert (plain.method, there.method) == ("shapes", "shapes")
    missing = plain.books["operators"].counts() - there.books["operators"].counts()
    assert set(missing) <= {"aten.arange.default", "aten.expand.default", "aten.view.default"}


def test_float64_of_a_library_that_avoids_it_on_mps_is_no_failure():
    got = platforms.of(recipe("musicflamingo"), {"batch": 1}, "fp32", ["mps", "rocm"])["targets"]
    assert {name: row["verdict"] for name, row in got.items()} == {"mps": "works", "rocm": "works"}
