"""Assay's generation and training beside bare loops: the same model, in fresh processes that alternate.

    python3 bench/modes/modes.py --device cuda --subject tinyllama --mode generate --cache static --dtype fp16
    python3 bench/modes/modes.py --device cuda --subject bert-base --mode train --batch 8
    python3 bench/modes/modes.py --device cpu --subject small-llama --mode generate --turns 3

It needs torch and transformers, and this repository: the side `assay` runs the engine as a worker's child does. The
processes of `--ahead` turns make their models at once, before the first of them runs; while one runs the others wait.
A bare loop of generation is `model.generate` with the same lengths, called again and again; one of training is forward,
backward, step. Printed are the medians of the two sides and the ratio of Assay's to the bare one's, with its range over
the turns: of a whole sample, and of decoding (a token after the first), which the bare side has as the difference
between a long and a one-token generation. The first line has the medians of each process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

READY = "ready"
RUNNER = Path(__file__).resolve().parents[2] / "runtimes/python"
TEXT = [
    {"name": "input_ids", "kind": "ids", "dtype": "int64", "shape": ["batch", "seq"], "low": 5, "high": 196},
    {"name": "attention_mask", "kind": "ones", "dtype": "int64", "shape": ["batch", "seq"]},
]
TINYLLAMA = {
    "hidden_size": 2048, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
    "intermediate_size": 5632, "vocab_size": 32000, "max_position_embeddings": 2048,
}  # fmt: skip
SMALL = TINYLLAMA | {"hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "intermediate_size": 1408}
LESS = {"num_hidden_layers": 4, "hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 4}
SUBJECTS = {
    "tinyllama": ("LlamaForCausalLM", "LlamaConfig", TINYLLAMA),
    "small-llama": ("LlamaForCausalLM", "LlamaConfig", SMALL),
    "bert-base": ("BertForMaskedLM", "BertConfig", {}),
    "small-bert": ("BertForMaskedLM", "BertConfig", LESS),
}


def recipe(args: argparse.Namespace) -> dict[str, Any]:
    """The subject as Assay's runner takes it."""
    name, config, values = SUBJECTS[args.subject]
    return {
        "type": config.removesuffix("Config").lower(), "class": name, "config_class": config, "size": "full",
        "config": values, "sizes": {"seq": args.prompt}, "inputs": TEXT, "call": {}, "gain": 1.0, "parameters": 1,
    }  # fmt: skip


def rule(args: argparse.Namespace) -> dict[str, float]:
    """When a turn of Assay's ends."""
    return {"min_s": args.seconds, "min_n": 5, "max_s": 4 * args.seconds, "warmup_max_s": args.seconds}


class Emit:
    """A reporter that keeps the last report."""

    index: int | None = None
    report: dict[str, Any]

    @contextmanager
    def in_phase(self, name: str) -> Iterator[None]:
        """The first call waits for its turn; other phases are not looked at."""
        if name == "first":
            await_turn()
        yield

    def timed(self, state: str) -> None:
        """Nor is when timing begins."""

    def point(self, index: int, report: dict[str, Any]) -> None:
        """A point is finished."""
        self.report = report


def assay(args: argparse.Namespace) -> dict[str, Any]:
    """One timed child of Assay's."""
    sys.path.insert(0, str(RUNNER))
    from assay_runner.engines.torch import engine

    emit = Emit()
    cell = {"platform": args.device, "engine": "torch", "dtype": args.dtype, "mode": args.mode, "tokens": args.tokens,
            "cache": args.cache, "optimizer": args.optimizer, "size": "full"}  # fmt: skip
    engine.run(
        {"kind": "time", "cell": cell, "recipe": recipe(args), "points": [{"batch": args.batch}], "timing": rule(args),
         "threads": args.threads}, emit,
    )  # fmt: skip
    told = {"whole_ms": statistics.median(emit.report["samples_ms"]), "same": same(emit.report["attn_implementation"])}
    if args.mode == "generate":
        generation = emit.report["generation"]
        streams = generation["streams_ms"]
        told["token_ms"] = statistics.median((s[-1] - s[0]) / (len(s) - 1) for s in streams)
        told["same"] |= {"tokens": generation["new_tokens"], "prompt": generation["prompt_tokens"]}
    return told


def same(attention: str | None) -> dict[str, Any]:
    """What must be the same on both sides."""
    import torch
    import transformers

    return {"attention": attention, "threads": torch.get_num_threads(), "torch": torch.__version__,
            "transformers": transformers.__version__}  # fmt: skip


def bare(args: argparse.Namespace) -> dict[str, Any]:
    """The same without Assay."""
    import torch
    import transformers

    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    name, config, values = SUBJECTS[args.subject]
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[args.dtype]
    torch.set_default_dtype(dtype)
    with torch.device(args.device):
        model = getattr(transformers, name)(getattr(transformers, config)(**values)).eval()
    torch.set_default_dtype(torch.float32)
    ids = torch.randint(5, 196, (args.batch, args.prompt), device=args.device)
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    wait = torch.cuda.synchronize if args.device == "cuda" else lambda: None

    agreed = same(model.config._attn_implementation)

    def generate(tokens: int) -> Any:
        cache = {"static": {"cache_implementation": "static"}, "off": {"use_cache": False}}.get(args.cache, {})
        return model.generate(
            **given, **cache, max_new_tokens=tokens, do_sample=False, pad_token_id=0, disable_compile=True
        )

    wait()
    await_turn()
    if args.mode == "generate":
        # With a call None is no value: what is left open there is the model's own.
        model.generation_config.eos_token_id = None
        with torch.inference_mode():
            made = generate(args.tokens).shape[1] - args.prompt
            whole = timed(lambda: generate(args.tokens), wait, args.seconds)
            first = timed(lambda: generate(1), wait, args.seconds / 2)
        agreed |= {"tokens": made, "prompt": args.prompt}
        return {"whole_ms": whole, "token_ms": (whole - first) / (args.tokens - 1), "same": agreed}
    model.train()
    kinds = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    optimiser = kinds[args.optimizer](model.parameters(), lr=1e-6)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        model(**given, labels=ids).loss.backward()
        optimiser.step()

    return {"whole_ms": timed(step, wait, args.seconds), "same": agreed}


def timed(call: Callable[[], Any], wait: Callable[[], Any], seconds: float) -> float:
    """The median of calls, in milliseconds, after a warm-up."""
    began = time.perf_counter()
    for _ in range(3):
        call()
    while time.perf_counter() - began < seconds / 2:
        call()
    samples, began = [], time.perf_counter()
    while len(samples) < 5 or time.perf_counter() - began < seconds:
        wait()
        start = time.perf_counter_ns()
        call()
        wait()
        samples.append((time.perf_counter_ns() - start) / 1e6)
    return statistics.median(samples)


def await_turn() -> None:
    """Says that the model is there, and waits until it may run."""
    print(READY, flush=True)
    sys.stdin.readline()


class Turn:
    """A process of one side. It makes its model and waits."""

    def __init__(self, side: str) -> None:
        self.side = side
        command = [sys.executable, *sys.argv, "--side", side]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        """The next line of what it says."""
        assert self.process.stdout
        text = self.process.stdout.readline()
        if not text:
            raise SystemExit(f"the side {self.side} ended with status {self.process.wait()}")
        return text.strip()

    def made(self) -> None:
        """Waits until its model is there; libraries may print before."""
        while self.line() != READY:
            pass

    def run(self) -> dict[str, Any]:
        """Lets it run, alone, and gives what it measured."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.close()
        text = self.line()
        while not text.startswith("{"):
            text = self.line()
        self.process.wait()
        return json.loads(text)


def main() -> None:
    """Both sides in turns, or one turn of one side."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parse.add_argument("--subject", default="small-llama", choices=SUBJECTS)
    parse.add_argument("--mode", default="generate", choices=("generate", "train"))
    parse.add_argument("--dtype", default="fp32", choices=("fp32", "fp16", "bf16"))
    parse.add_argument("--cache", default="", choices=("", "static", "off"))
    parse.add_argument("--optimizer", default="adamw", choices=("adamw", "sgd"))
    for name, usual in (("batch", 1), ("prompt", 32), ("tokens", 32), ("turns", 6), ("ahead", 1), ("threads", 0)):
        parse.add_argument(f"--{name}", type=int, default=usual)
    parse.add_argument("--seconds", type=float, default=2.0)
    parse.add_argument("--side", choices=("bare", "assay"), help="one turn of one side, as JSON")
    args = parse.parse_args()
    if args.side:
        print(json.dumps(bare(args) if args.side == "bare" else assay(args)))
        return
    rows: dict[str, list[dict[str, Any]]] = {"bare": [], "assay": []}
    sides = [side for turn in range(args.turns) for side in (("bare", "assay") if turn % 2 else ("assay", "bare"))]
    for first in range(0, len(sides), 2 * args.ahead):
        turns = [Turn(side) for side in sides[first : first + 2 * args.ahead]]
        for turn in turns:
            turn.made()
        for turn in turns:
            rows[turn.side].append(turn.run())
    done = [row.pop("same") for side in rows.values() for row in side]
    if any(other != done[0] for other in done):
        parse.exit(1, f"the sides do not do the same: {done}\n")
    print(json.dumps(rows))
    for what in rows["bare"][0]:
        each = {side: [row[what] for row in rows[side]] for side in rows}
        ratios = sorted(a / b for a, b in zip(each["assay"], each["bare"], strict=True))
        middle = statistics.median(each["assay"]) / statistics.median(each["bare"])
        print(
            f"{what}: bare {statistics.median(each['bare']):.3f}, assay {statistics.median(each['assay']):.3f}, "
            f"ratio {middle:.3f} (turns {ratios[0]:.3f} to {ratios[-1]:.3f})"
        )


if __name__ == "__main__":
    main()
