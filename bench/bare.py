"""The bare loop: what Assay's timed loop is compared with, in plain Python without any of Assay.

The first line of standard input has the subject as JSON: a recipe as docs/protocol.md describes it, batches, device,
dtype, threads (0 is torch's own choice) and stop rule. The model is built from the same configuration, with torch's own
initial weights; inputs have the same shapes and ranges. A line "ready" says that it is there, and the loop begins with
the next line that is read. One JSON array on standard output has, for each batch, the samples and the process's CPU
time for each iteration.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers


DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def main() -> None:
    """Build, and for each batch warm up, time; print."""
    subject = json.loads(sys.stdin.readline())
    recipe, rule, device = subject["recipe"], subject["timing"], subject["device"]
    if subject["threads"]:
        torch.set_num_threads(subject["threads"])
    torch.manual_seed(0)
    config = getattr(transformers, recipe["config_class"])(**recipe["config"])
    torch.set_default_dtype(DTYPES[subject["dtype"]])
    with torch.device(device):
        model = getattr(transformers, recipe["class"])(config).eval()
    torch.set_default_dtype(torch.float32)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    print("ready", flush=True)
    sys.stdin.readline()
    answers = []
    for batch in subject["batches"]:
        arguments = {**inputs(recipe, batch, device), **recipe["call"]}
        with torch.inference_mode():
            gc.collect()
            gc.disable()
            samples, cpu = repeat(lambda arguments=arguments: model(**arguments), wait, rule, device)
            gc.enable()
        answers.append(
            {
                "samples_ms": samples,
                "cpu_ms_per_iter": cpu,
                "threads": torch.get_num_threads(),
                "attention": model.config._attn_implementation,
            }
        )
    print(json.dumps(answers))


def repeat(
    call: Callable[[], Any], wait: Callable[[], None], rule: dict[str, Any], device: str
) -> tuple[list[float], float]:
    """The first call, a warm-up and the timed loop."""
    call()
    warm_up(call, wait, rule, device)
    return timed(call, wait, rule)


def inputs(recipe: dict[str, Any], batch: int, device: str) -> dict[str, torch.Tensor]:
    """The recipe's inputs, of the kinds that the subject has."""
    sizes = {**recipe["sizes"], "batch": batch}
    made = {}
    for spec in recipe["inputs"]:
        shape = [sizes[n] if isinstance(n, str) else n for n in spec["shape"]]
        dtype = getattr(torch, spec["dtype"])
        if spec["kind"] == "ids":
            made[spec["name"]] = torch.randint(spec.get("low", 0), spec["high"], shape, dtype=dtype, device=device)
        elif spec["kind"] == "ones":
            made[spec["name"]] = torch.ones(shape, dtype=dtype, device=device)
        else:
            raise ValueError(f"the bare loop does not make inputs of kind {spec['kind']}")
    return made


def warm_up(call: Callable[[], Any], wait: Callable[[], None], rule: dict[str, Any], device: str) -> None:
    """Calls until the last two windows agree, or until the time is up. On a device a window takes a tenth of a second."""
    seen: list[float] = []
    end = time.perf_counter() + rule["warmup_max_s"]
    while time.perf_counter() < end:
        wait()
        start = time.perf_counter_ns()
        call()
        wait()
        seen.append((time.perf_counter_ns() - start) / 1e6)
        window = rule["warmup_window"] if device == "cpu" else int(100 / statistics.median(seen[-50:])) + 1
        if len(seen) >= 2 * window and len(seen) % window == 0:
            before, after = sum(seen[-2 * window : -window]), sum(seen[-window:])
            if abs(after - before) <= rule["warmup_tolerance"] * before:
                return


def timed(call: Callable[[], Any], wait: Callable[[], None], rule: dict[str, Any]) -> tuple[list[float], float]:
    """Milliseconds of each call, the device awaited at both ends, and the process's CPU milliseconds for each."""
    clock, samples = time.perf_counter_ns, []
    wait()
    cpu = time.process_time_ns()
    began = clock()
    enough, most = began + int(rule["min_s"] * 1e9), began + int(rule["max_s"] * 1e9)
    while True:
        start = clock()
        call()
        wait()
        end = clock()
        samples.append(end - start)
        if end >= most or (end >= enough and len(samples) >= rule["min_n"]):
            break
    cpu = time.process_time_ns() - cpu
    return [s / 1e6 for s in samples], cpu / 1e6 / len(samples)


main()
