"""A reporter that keeps what an engine reports."""

import json
from contextlib import contextmanager


class Emit:
    def __init__(self):
        self.index = None
        self.phases = []
        self.states = []
        self.reports = {}
        self.failed_in = None
        self.answer = None

    def phase(self, name, ms):
        assert ms >= 0
        self.phases.append(name)

    @contextmanager
    def in_phase(self, name):
        try:
            yield
        except BaseException:
            self.failed_in = self.failed_in or name
            raise
        self.phase(name, 0)

    def timed(self, state):
        self.states.append(state)

    def point(self, index, report):
        json.dumps(report, allow_nan=False)  # what cannot be written must not be reported
        self.reports[index] = report

    def data(self, answer):
        json.dumps(answer, allow_nan=False)
        self.answer = answer


def job(recipe, kind="check", points=({"batch": 1},), **cell):
    timing = {"min_s": 0.02, "min_n": 5, "max_s": 5, "warmup_max_s": 0.2, "warmup_window": 2, "warmup_tolerance": 0.5}
    cell = {"platform": "cpu", "engine": "torch", "dtype": "fp32", **cell}
    return {"kind": kind, "cell": cell, "recipe": recipe, "points": list(points), "timing": timing, "threads": 1}
