"""Calls in processes of their own: what goes wrong in one costs only its answer."""

import os
import sys
import time

import pytest

from assay_runner.process import isolation


def _act(what: str) -> str:
    if what == "die":
        os._exit(7)
    if what == "hang":
        time.sleep(60)
    if what == "devour":
        try:
            return str(len(bytearray(isolation.MOST_BYTES + (1 << 30))))
        except MemoryError:
            return "refused"
    return what.upper()


def test_each_has_its_own_end() -> None:
    found = {one.argument: one for one in isolation.outcomes(_act, ["a", "die", "b", "hang", "c"], 2, 1.0)}
    answers = {name: one.answer for name, one in found.items()}
    assert answers == {"a": "A", "b": "B", "c": "C", "die": None, "hang": None}
    assert found["die"].trouble == "died with status 7"
    assert found["hang"].trouble == "no answer in 1 s"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds what a process allocates this way")
def test_memory_is_bounded() -> None:
    (one,) = isolation.outcomes(_act, ["devour"], 1, 60.0)
    assert one.answer == "refused"
