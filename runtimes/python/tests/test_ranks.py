"""Two processes on the processor: DDP, FSDP2 and tensor parallel, and ranks that hang, end or stray."""

import os
import sys
import time
from pathlib import Path

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines.torch import engine, ranks, sharing, splitting
from assay_runner.errors import AbsentDevice, LostRank, Unsuited

LATER = pytest.mark.full  # fresh processes take seconds


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Ranks write their place into the environment of this process."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "ASSAY_MEETING"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    yield
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "ASSAY_MEETING"):
        os.environ.pop(name, None)


def ran(recipe, way, kind="check", mode="train", wait_s=60, batch=2, procs=2):
    emit = Emit()
    asked = job(recipe, kind, ({"batch": batch},), mode=mode, size="tiny", parallel=way, procs=procs)
    engine.run({**asked, "options": {"rank_wait_s": wait_s}}, emit)
    return emit.reports[0]


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_steps_are_those_of_one_process(way):
    report = ran(torch_recipes.LLAMA, way)
    told = report["training"]
    assert report["numerics"]["pass"] and told["falls"] and told["gradients"]["pass"], told
    assert report["numerics"]["control"]["kind"] == "unshared" and report["numerics"]["control"]["pass"]
    assert report["ranks"]["procs"] == 2 and report["ranks"]["backend"] == "gloo"
    assert (report["ranks"]["sharded"] > 0) == (way == "fsdp")


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_one_process_that_shares_with_nobody_has_a_control(way):
    """Its own gradients are those of all: what must be noticed is another fault."""
    report = ran(torch_recipes.LLAMA, way, procs=1)
    assert report["numerics"]["pass"] and report["training"]["gradients"]["pass"]
    control = report["numerics"]["control"]
    assert control["kind"] == "frozen" and control["pass"], control
    assert report["ranks"]["procs"] == 1


def test_a_rank_without_a_device_is_refused_before_any_is_started(monkeypatch):
    monkeypatch.setattr(ranks, "_start", lambda *_: pytest.fail("a rank was started"))
    monkeypatch.setattr(ranks.devices, "Device", absent_from(1))
    asked = job(torch_recipes.BERT, "check", ({"batch": 2},), mode="train", parallel="ddp", procs=2, platform="cuda")
    with pytest.raises(AbsentDevice, match="no cuda:1"), ranks.started(asked):
        pass


def absent_from(count):
    """Devices of which there are so many."""

    class Device:
        def __init__(self, platform, index):
            if int(index) >= count:
                raise AbsentDevice(f"there is no {platform}:{index}")
            self.torch = torch.device("cuda", int(index))

    return Device


def test_ranks_talk_where_their_devices_are(monkeypatch):
    monkeypatch.setattr(ranks.devices, "Device", absent_from(8))
    seen = [ranks.of({"cell": {"platform": p, "device": "2"}}, 1, 2, 1) for p in ("cpu", "cuda", "rocm", "mps")]
    assert [(g.backend, str(g.device)) for g in seen] == [
        ("gloo", "cpu"), ("nccl", "cuda:3"), ("nccl", "cuda:3"), ("gloo", "cpu"),
    ]  # fmt: skip


def test_shared_layers_give_what_one_process_gives():
    report = ran(torch_recipes.LLAMA, "tp", mode="infer")
    assert report["numerics"]["pass"], report["numerics"]
    assert report["numerics"]["control"]["pass"], report["numerics"]["control"]
    assert report["ranks"]["sharded"] > 0


@LATER
@pytest.mark.parametrize(("way", "mode"), [("ddp", "train"), ("tp", "infer")])
def test_timed(way, mode):
    report = ran(torch_recipes.LLAMA, way, "time", mode)
    assert len(report["samples_ms"]) >= 5
    told = report["ranks"]
    assert told["alone_ms"] > 0 and told["efficiency"] > 0


@pytest.mark.parametrize(
    ("fault", "wait_s", "says"), [("hangs", 6, "did not answer within 6 s"), ("ends", 60, "ended with status 9")]
)
def test_a_rank_that_is_lost_ends_the_work(monkeypatch, fault, wait_s, says):
    monkeypatch.setattr(ranks, "COMMAND", [sys.executable, str(Path(__file__).parent / "bad_rank.py"), fault])
    began = time.monotonic()
    with pytest.raises(LostRank, match=says):
        ran(torch_recipes.BERT, "ddp", wait_s=wait_s)
    assert time.monotonic() - began < 120
    assert not torch.distributed.is_initialized()


@LATER
def test_a_rank_that_works_on_anothers_share_is_noticed(monkeypatch):
    monkeypatch.setattr(ranks, "COMMAND", [sys.executable, str(Path(__file__).parent / "bad_rank.py"), "strays"])
    told = ran(torch_recipes.BERT, "ddp")["training"]
    assert not told["gradients"]["pass"]


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(Unsuited, match="no plan by which"):
        ran(torch_recipes.VIT, "tp", mode="infer")
    with pytest.raises(Unsuited, match="cannot be shared"):
        sharing.share({"x": torch.ones(3)}, 2, ranks.Group(0, 2, "gloo"))


def test_errors_that_are_not_of_ranks_stay_what_they_are():
    group = ranks.Group(0, 2, "gloo")
    assert group.lost(ValueError("image features do not match")) is None
    assert isinstance(group.lost(RuntimeError("[gloo] Timed out waiting 6000ms")), LostRank)


@pytest.mark.parametrize("name", ["bert", "llama", "vit"])
def test_layers_are_split_in_order(name):
    from assay_runner.subjects.programs import building

    model = building.build(torch_recipes.ALL[name], torch.float32, 0).model
    found = splitting.plan(model, ["a", "b"])
    order = list(dict.fromkeys(found.values()))
    assert order == ["a", "b"], found
    covered = [
        n for n, _ in model.named_parameters() if not any(n.startswith(part + ".") or n == part for part in found)
    ]
    assert not covered, covered


def test_what_shares_a_weight_stays_beside_it():
    """The head of a model that ties it to its first part; and a table of positions, which has no weights at all."""
    from assay_runner.subjects.programs import building

    recipe = torch_recipes.LLAMA | {"config": torch_recipes.LLAMA["config"] | {"tie_word_embeddings": True}}
    found = splitting.plan(building.build(recipe, torch.float32, 0).model, ["a", "b"])
    assert (found["model.embed_tokens"], found["lm_head"], found["model.norm"]) == ("a", "a", "b"), found
    assert found["model.rotary_emb"] == "a"


def test_one_device_is_not_split():
    with pytest.raises(AbsentDevice, match="two devices"):
        engine.run(job(torch_recipes.BERT, parallel="layers"), Emit())
