"""Digests of outputs: as far apart as the outputs are, and the same whatever the order of outputs and their layout."""

import math
import re

import numpy as np
import pytest
import torch
from trials import fingerprinted, subjects
from trials.lawbreakers import FAULTS
from trials.lawful import Lawful

from assay_runner.checking import fingerprints


def drawn(shape=(2, 16, 64), seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def rows(**tensors):
    return fingerprints.of([("first", tensors)])["first"]


def distance(one, other):
    return fingerprinted.difference({"first": one}, {"first": other})


@pytest.mark.parametrize("far", [1e-7, 1e-4, 0.1])
def test_digests_are_about_as_far_apart_as_outputs(far):
    one, noise = drawn(), drawn(seed=1)
    found = distance(rows(logits=one), rows(logits=one + far * noise))
    assert far / 5 < found < far * 5


def test_one_number_of_many_is_noticed():
    one = drawn()
    other = one.clone()
    other[1, 3, 5] += 0.1
    assert distance(rows(logits=one), rows(logits=other)) > 1e-4


def test_rows_that_change_places_are_noticed():
    one = drawn()
    assert distance(rows(logits=one), rows(logits=one.flip(0))) > 0.1


def test_the_same_numbers_have_the_same_digest_in_any_layout_and_order():
    one, other = drawn(), drawn(seed=1)
    turned = one.transpose(0, 2).contiguous().transpose(0, 2)
    assert not turned.is_contiguous()
    assert rows(a=one, b=other) == rows(b=other, a=turned)


def test_outputs_that_are_not_the_same_are_infinitely_far_apart():
    assert distance(rows(a=drawn()), rows(b=drawn())) == math.inf


def test_a_model_that_gives_much_has_few_rows_and_all_of_it_counts():
    many = {f"state.{i}": drawn(seed=i) for i in range(12)}
    other = {**many, "state.11": many["state.11"] + 0.1}
    assert len(rows(**many)) == 7
    assert distance(rows(**many), rows(**other)) > 1e-3


def test_what_is_no_number_counts_as_zero_and_whole_numbers_count():
    held = drawn()
    held[0, 0, 0] = -math.inf
    assert all(math.isfinite(x) for row in rows(mask=held, ids=torch.arange(9)).values() for x in row)
    assert rows(ids=torch.arange(9)) != rows(ids=torch.arange(9).flip(0))
    assert rows(nothing=torch.zeros(3)) == {"nothing": [0.0] * 5}


def test_digests_never_change():
    """They are kept in the catalogue: other numbers would call every model changed."""
    assert rows(logits=torch.arange(12.0).reshape(3, 4))["logits"] == KEPT


KEPT = [6.49358658, 0.608066074, 0.438622865, -1.17154311, 0.564161677]


def test_trials_compare_digests_as_the_program_does():
    source = (subjects.CATALOGUE.parents[2] / "cell" / "fingerprint.go").read_text(encoding="utf-8")
    assert float(re.search(r"FingerprintTolerance = (\S+)", source)[1]) == fingerprinted.TOLERANCE


@pytest.mark.parametrize(("type", "reference"), [("bert", "cpu fp64"), ("slanext", "cpu fp32")])
def test_a_fault_in_a_library_changes_the_digest_that_is_kept(type, reference):
    recipe = subjects.tiny()[type]
    (planted,) = (fault for fault in FAULTS if fault.name == "other activation")
    assert fingerprinted.taken(recipe)["reference"] == reference
    assert fingerprinted.changed(recipe) <= fingerprinted.TOLERANCE
    with planted.planted(Lawful.of(recipe).built.model):
        assert fingerprinted.changed(recipe) > 1e-3
