"""What is replaced for a while is as it was afterwards, whatever happens inside; and libraries that are kept quiet."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch

from assay_runner.exporting.quieting import quiet
from assay_runner.subjects.replacing import replaced


def test_an_own_attribute_is_put_back():
    layer = torch.nn.Identity()
    layer.forward = own = lambda x: x + 1
    with pytest.raises(ValueError, match="inside"), replaced(layer, "forward", lambda own: lambda x: own(x) * 2):
        assert layer(torch.tensor(1)) == 4
        raise ValueError("inside")
    assert vars(layer)["forward"] is own


def test_what_is_the_classs_is_the_classs_again():
    """A copy of a bound method that stayed on a module would keep it alive, and travel with copies of it."""
    layer = torch.nn.Identity()
    with replaced(layer, "forward", lambda own: lambda x: own(x) + 1):
        assert layer(torch.tensor(1)) == 2
    assert "forward" not in vars(layer)


def test_a_static_method_stays_one():
    class Library:
        @staticmethod
        def read():
            return 1

    with replaced(Library, "read", lambda own: lambda *_: own() + 1):
        assert Library().read() == 2
    assert Library().read() == 1


def test_nothing_is_a_value_and_absence_is_none():
    class Config:
        choice = None

    with replaced(Config, "choice", lambda own: "eager"), replaced(Config, "absent", lambda own: 1 / 0):
        assert Config.choice == "eager"
        assert not hasattr(Config, "absent")
    assert Config.choice is None


@pytest.mark.parametrize("level", [logging.WARNING, logging.ERROR])
def test_quiet(level, capsys, caplog):
    before = logging.root.manager.disable
    with warnings.catch_warnings(record=True) as warned, quiet(level):
        print("progress")
        warnings.warn("old", stacklevel=1)
        logging.getLogger("library").warning("a warning")
        logging.getLogger("library").error("an error")
    assert capsys.readouterr().out == ""
    assert [record.getMessage() for record in caplog.records] == (["an error"] if level == logging.WARNING else [])
    assert not warned
    assert logging.root.manager.disable == before
