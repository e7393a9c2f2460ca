"""Runs the test of a skill with its weights damaged in several ways: mutate_skill.py FOLDER TYPE.

Prints by mutant which tests failed; `whole` is the skill as it is. All of it is one
process, which imports torch once.
"""

import functools
import importlib
import json
import os
import sys

import pytest
import torch


def to_nan(model, _made):
    for p in model.parameters():
        p.data.fill_(torch.nan)


def head_of_zeros(model, _made):
    model.get_output_embeddings().weight.data.zero_()


def first_without_layer(model, made):
    """The model under test alone: what it is compared with has the layer."""
    for p in model.model.layers[0].parameters() if made == 1 else ():
        p.data.zero_()


MUTANTS = {
    "whole": lambda *_: None,
    "every weight is NaN": to_nan,
    "a head of zeros": head_of_zeros,
    "a layer of zeros on the device": first_without_layer,
}


class Failures:
    """The names of the tests that failed."""

    def __init__(self):
        self.names = []

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.names.append(report.nodeid.rpartition("::")[2])


def broken(engine, damage):
    """Wraps how an engine is made, and counts those that are."""
    made, whole = [], engine.__init__

    @functools.wraps(whole)
    def init(self, *given):
        whole(self, *given)
        made.append(None)
        damage(self.model, len(made))

    engine.__init__ = init
    return whole


def main(folder, kind):
    sys.path.insert(0, folder)
    os.chdir(folder)
    skill = importlib.import_module(f"skill_hf_{kind}")
    found = {}
    for name, damage in MUTANTS.items():
        whole, failures = broken(skill.Torch, damage), Failures()
        with open(os.devnull, "w") as quiet:
            before, sys.stdout = sys.stdout, quiet
            pytest.main(["-p", "no:cacheprovider", f"test_skill_hf_{kind}.py"], plugins=[failures])
            sys.stdout = before
        skill.Torch.__init__ = whole
        sys.modules.pop(f"test_skill_hf_{kind}", None)
        found[name] = failures.names
    print(json.dumps(found))


main(*sys.argv[1:])
