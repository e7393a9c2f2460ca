"""The bare loop: what Assay's timed loop is compared with, in plain Python without any of Assay.

Standard input has the subject as JSON: a recipe as docs/protocol.md describes it, batch, threads and stop rule. The
model is built from the same configuration, with torch's own initial weights; inputs have the same shapes and ranges.
One JSON object on standard output has the samples and the process's CPU time for each iteration.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers


def main() -> None:
    """Build, warm up, time, print."""
    subject = json.load(sys.stdin)
    recipe, rule = subject["recipe"], subject["timing"]
    torch.set_num_threads(subject["threads"])
    torch.manual_seed(0)
    config = getattr(transformers, recipe["config_class"])(**recipe["config"])
    model = getattr(transformers, recipe["class"])(config).eval()
    arguments = {**inputs(recipe, subject["batch"]), **recipe["call"]}

    def call() -> None:
        model(**arguments)

    with torch.inference_mode():
        gc.collect()
        gc.disable()
        call()
        warm_up(call, rule)
        samples, cpu = timed(call, rule)
    answer = {
        "samples_ms": samples,
        "cpu_ms_per_iter": cpu,
        "threads": torch.get_num_threads(),
        "attention": model.config._attn_implementation,
    }
    print(json.dumps(answer))


def inputs(recipe: dict[str, Any], batch: int) -> dict[str, torch.Tensor]:
    """The recipe's inputs, of the kinds that the subject has."""
    sizes = {**recipe["sizes"], "batch": batch}
    made = {}
    for spec in recipe["inputs"]:
        shape = [sizes[n] if isinstance(n, str) else n for n in spec["shape"]]
        dtype = getattr(torch, spec["dtype"])
        if spec["kind"] == "ids":
            made[spec["name"]] = torch.randint(spec.get("low", 0), spec["high"], shape, dtype=dtype)
        elif spec["kind"] == "ones":
            made[spec["name"]] = torch.ones(shape, dtype=dtype)
        else:
            raise ValueError(f"the bare loop does not make inputs of kind {spec['kind']}")
    return made


def warm_up(call: Callable[[], None], rule: dict[str, Any]) -> None:
    """Calls until the last two windows agree, or until the time is up."""
    window, seen = rule["warmup_window"], []
    end = time.perf_counter() + rule["warmup_max_s"]
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        call()
        seen.append(time.perf_counter_ns() - start)
        if len(seen) >= 2 * window and len(seen) % window == 0:
            before, after = sum(seen[-2 * window : -window]), sum(seen[-window:])
            if abs(after - before) <= rule["warmup_tolerance"] * before:
                return


def timed(call: Callable[[], None], rule: dict[str, Any]) -> tuple[list[float], float]:
    """Milliseconds of each call, and the process's CPU milliseconds for each."""
    clock, samples = time.perf_counter_ns, []
    cpu = time.process_time_ns()
    began = clock()
    enough, most = began + int(rule["min_s"] * 1e9), began + int(rule["max_s"] * 1e9)
    while True:
        start = clock()
        call()
        end = clock()
        samples.append(end - start)
        if end >= most or (end >= enough and len(samples) >= rule["min_n"]):
            break
    cpu = time.process_time_ns() - cpu
    return [s / 1e6 for s in samples], cpu / 1e6 / len(samples)


main()
