"""The table of bench/peers: what is set beside what."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "bench/peers/peers.py"


@pytest.fixture(scope="module")
def peers():
    if not SCRIPT.exists():
        pytest.skip("this is not the whole repository")
    spec = importlib.util.spec_from_file_location("peers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def times(*median_ms):
    return [{"median_ms": ms, "wall_s": 2.0} for ms in median_ms]


def test_each_side_stands_beside_the_loop_of_its_own_environment(peers):
    rows = {"bare": times(10, 10), "assay": times(11, 10), "bare-peer": times(20, 20), "ob-process": times(60, 80)}
    assert peers.table(rows) == [
        "| bare | 10.000 |  |  | 0.0 % | 2.0 |",
        "| assay | 10.500 | 1.050 | 1.000 to 1.100 | 10.0 % | 2.0 |",
        "| bare-peer | 20.000 |  |  | 0.0 % | 2.0 |",
        "| ob-process | 70.000 | 3.500 | 3.000 to 4.000 | 33.3 % | 2.0 |",
    ]


def test_a_side_that_fails_says_why_and_a_lost_turn_is_counted(peers):
    rows = {"bare": [*times(10), {"error": "gone"}], "assay": [{"error": "no such model"}], "ob-inline": times(7)}
    assert peers.table(rows) == [
        "| bare (1 of 2 failed) | 10.000 |  |  | 0.0 % | 2.0 |",
        "| assay | no such model | | | | |",
        "| ob-inline | 7.000 |  |  | 0.0 % | 2.0 |",
    ]
