"""Throughput with several requests in flight, and models that are timed at the same time."""

import threading
import time

import pytest
import torch
import torch_recipes
from torch_emit import Emit, job

from assay_runner.engines import in_flight
from assay_runner.engines.company import LOST, Company
from assay_runner.engines.torch import engine
from assay_runner.errors import LostCompany, WrongNumbers


def timed(recipe, threads=2, options=None, **cell):
    emit = Emit()
    engine.run({**job(recipe, "time", size="tiny", **cell), "threads": threads, "options": options or {}}, emit)
    return emit.reports[0]


def test_throughput_on_torch_counts_inferences():
    report = timed(torch_recipes.BERT, scenario="throughput")
    assert f"{2 * in_flight.WAVES} forwards in flight" in report["inputs_inside"]
    assert all(ms > 0 for ms in report["samples_ms"])
    assert torch.get_num_threads() == 2


def test_a_model_whose_requests_disturb_each_other_is_refused(monkeypatch):
    """A layer that writes what it was given last, and reads what may be another request's."""
    from transformers.models.bert.modeling_bert import BertSelfOutput

    forward, kept = BertSelfOutput.forward, {}

    def shared(self, hidden, *rest):
        kept[id(self)] = threading.get_ident()
        time.sleep(0.002)
        other = kept[id(self)] != threading.get_ident()
        return forward(self, hidden * (1.5 if other else 1.0), *rest)

    monkeypatch.setattr(BertSelfOutput, "forward", shared)
    with pytest.raises(WrongNumbers, match="in flight"):
        timed(torch_recipes.BERT, threads=4, scenario="throughput")


def test_in_flight_means_at_the_same_time():
    meeting = threading.Barrier(3, timeout=10)  # which breaks unless three are there at once
    flight = in_flight.InFlight([meeting.wait] * 3)
    flight.run()
    flight.close()
    assert flight.items == 3 * in_flight.WAVES


def test_what_a_request_raises_is_raised():
    flight = in_flight.InFlight([lambda: 1 / 0])
    with pytest.raises(ZeroDivisionError):
        flight.run()
    flight.close()


def test_company_is_timed_together(tmp_path):
    """Neither begins before both are warm, and neither ends before both have their samples."""
    seen, reports = [], {}

    def member(index):
        company = Company(tmp_path, 2, index, 30)
        time.sleep(0.2 * index)  # one loads longer
        company.meet(lambda: None)
        seen.append(("begin", index, time.monotonic()))
        time.sleep(0.1 + 0.2 * index)
        company.linger(lambda: reports.setdefault(index, 0))
        seen.append(("end", index, time.monotonic()))

    threads = [threading.Thread(target=member, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [what for what, _, _ in sorted(seen, key=lambda row: row[2])] == ["begin", "begin", "end", "end"]
    assert 0 in reports, "the one that was done first goes on"


@pytest.mark.parametrize("lost", [True, False])
def test_a_lost_member_ends_the_wait(tmp_path, lost):
    if lost:
        (tmp_path / LOST).touch()
    with pytest.raises(LostCompany, match="ended" if lost else "not ready"):
        Company(tmp_path, 2, 0, wait_s=0.05).meet(lambda: None)
    Company(tmp_path, 2, 0, wait_s=0.05).linger(lambda: None)  # samples that were taken stay


def test_a_job_without_company_waits_for_nobody():
    assert Company.of({"options": {}}) == Company()
    Company().meet(lambda: 1 / 0)


def test_a_job_with_company(tmp_path):
    (tmp_path / "warm.1").touch()
    (tmp_path / "done.1").touch()
    report = timed(torch_recipes.BERT, options={"company": {"folder": str(tmp_path), "members": 2, "index": 0}})
    assert len(report["samples_ms"]) >= 5
    assert (tmp_path / "done.0").exists()
