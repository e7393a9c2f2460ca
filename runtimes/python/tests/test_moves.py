"""Scenario moves, and devices of plug-ins: on a device that torch's own way of adding one (PrivateUse1) adds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch_recipes
from shelf import compiling
from torch_emit import Emit, job

from assay_runner.engines.torch import engine
from assay_runner.errors import AbsentDevice, Unsuited
from assay_runner.machine import plugins
from assay_runner.machine.devices import Device

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    if not compiling.compiler():
        pytest.skip("no C++ compiler is here to make the device with")
    library = compiling.compiled(tmp_path_factory.mktemp("shelf"))
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
    line = [sys.executable, "-m", "shelf.run", str(library)]
    done = subprocess.run(line, env=environ, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_model_keeps_its_numbers_and_frees_its_memory(seen):
    moves = seen["moved"]["moves"]
    assert moves["weights_same"] and moves["home_same"] and moves["there_same"]
    assert moves["left_bytes"] == [0, 0, 0]
    assert min(moves["there_bytes"]) >= moves["model_bytes"] > 0 and moves["peak_bytes"] > max(moves["there_bytes"])
    assert moves["control"]["pass"] and moves["control"]["seen_bytes"] == moves["control"]["kept_bytes"]
    assert moves["to_ms"] > 0 and moves["back_ms"] > 0
    assert seen["moved"]["numerics"]["pass"] and seen["moved"]["placement"]["device"] == "hpu:0"


def test_tied_weights_that_a_move_parts_are_counted(seen):
    """Torch makes new parameters on such a device: what was one tensor is two from then on."""
    moves = seen["moved"]["moves"]
    assert moves["untied"] == 2 and min(moves["there_bytes"]) > moves["model_bytes"]


def test_memory_that_a_model_keeps_is_told(seen):
    moves = seen["kept"]["moves"]
    assert moves["left_bytes"][-1] > moves["left_bytes"][0] > moves["slack_bytes"]
    assert moves["weights_same"] and moves["control"]["pass"]


def test_a_way_that_changes_weights_is_told(seen):
    moves = seen["lossy"]["moves"]
    assert not moves["weights_same"] and not moves["home_same"] and not moves["there_same"]


def test_a_counter_that_notices_nothing_fails_the_control(seen):
    moves = seen["deaf"]["moves"]
    assert moves["left_bytes"] == [0, 0, 0] and not moves["control"]["pass"]


def test_a_device_without_a_counter_has_no_memory_to_tell(seen):
    moves = seen["mute"]["moves"]
    assert moves["left_bytes"] == [None] * 3 and moves["control"] is None and moves["weights_same"]


def test_ways_are_timed(seen):
    report = seen["timed"]
    assert set(report["moves"]["parts_ms"]) == {"to_device", "back"}
    assert len(report["samples_ms"]) >= 5 and "moved to the device and back" in report["inputs_inside"]


def test_a_device_of_a_plug_in_runs_and_is_found(seen):
    assert seen["plain"]["numerics"]["pass"] and seen["plain"]["moves"] is None
    assert seen["plain"]["memory"]["framework_peak_bytes"] is None or seen["plain"]["memory"]["device_peak_bytes"] > 0
    assert seen["name"] == "shelf" and seen["installed"]["hpu"]
    devices = [{"name": "shelf", "memory_bytes": 1 << 30}]
    assert seen["probe"]["hpu"] == {
        "package": "habana_frameworks", "software": False, "devices": devices, "error": "",
    }  # fmt: skip


@pytest.mark.parametrize("case", ["split", "tied"])
def test_layers_are_split_over_a_device_and_its_host(seen, case):
    """Those on the host compute there: none is brought to the device for its turn."""
    report = seen[case]
    assert report["placement"]["device"] == "cpu,hpu:0"
    assert min(report["placement"]["nodes"][device] for device in ("cpu", "hpu:0")) > 10
    assert report["ranks"]["way"] == "layers" and report["ranks"]["procs"] == 2 and report["ranks"]["sharded"] > 8
    assert report["numerics"]["pass"] and report["numerics"]["control"]["pass"]


def test_nothing_moves_from_the_cpu_to_the_cpu():
    for kind in ("check", "time"):
        with pytest.raises(Unsuited, match="another device and back"):
            engine.run(job(torch_recipes.BERT, kind, size="tiny", scenario="moves"), Emit())


@pytest.mark.parametrize("kind", sorted(plugins.PACKAGES))
def test_a_package_that_is_not_here_is_named(kind, monkeypatch):
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    with pytest.raises(AbsentDevice, match=f"{kind} needs the package {plugins.PACKAGES[kind].split('.')[0]}"):
        Device(kind)


def test_a_package_that_does_not_import_says_why(monkeypatch):
    monkeypatch.setattr(plugins, "find_spec", lambda name: object())
    monkeypatch.setattr(plugins.importlib, "import_module", lambda name: 1 / 0)
    with pytest.raises(AbsentDevice, match="cannot be imported: division by zero"):
        Device("npu")
    assert plugins.told("npu")["devices"] == [] and "division by zero" in plugins.told("npu")["error"]
