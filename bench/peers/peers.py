"""Assay beside optimum-benchmark and bare loops: one model, fresh processes, in an order drawn from a seed.

    uv venv peers && uv pip install --python peers/bin/python -r bench/peers/requirements.lock
    python3 bench/peers/peers.py --peer peers/bin/python --own PYTHON --assay bin/assay
    python3 bench/peers/peers.py --peer peers/bin/python --own PYTHON --turns 2 --seconds 1 --sweep bert vit

PYTHON is the one that `assay setup --json` names. optimum-benchmark needs a transformers before 5, and so an environment
of its own with the same torch: each tool is set beside a bare loop of its own environment. In every turn each side runs
once, in a process of its own; the order is drawn anew. Printed are each side's median, its ratio to its bare loop, turn
by turn, the spread of its medians, and how long a whole process took. `--sweep` runs the key models, tiny, once: the wall
time a cell of `assay bench --quick` in one command, and of optimum-benchmark, which has a process for each. What a side
cannot do is a line that says so, and the exit status is 1 only where nothing could be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TEXT = {"vocab_size": 200, "max_position_embeddings": 64}
VISION = {"image_size": 32, "patch_size": 8}
DECODER = SMALL | TEXT | {"num_key_value_heads": 2}
KEY: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("fill-mask", SMALL | TEXT),
    "t5": ("text2text-generation", {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 200}),
    "llama": ("text-generation", DECODER),
    "clip": ("zero-shot-image-classification", {"text_config": SMALL | TEXT, "vision_config": SMALL | VISION}),
    "vit": ("image-classification", SMALL | VISION),
    "clap": ("feature-extraction", {}),
    "whisper": ("automatic-speech-recognition", {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}),
    "wav2vec2": ("automatic-speech-recognition", SMALL | {"vocab_size": 200}),
    "llava": ("image-text-to-text", {"text_config": DECODER | {"model_type": "llama"}, "vision_config": SMALL | VISION | {"model_type": "clip_vision_model"}}),
    "llava_next": ("image-text-to-text", {"text_config": DECODER | {"model_type": "llama"}, "vision_config": SMALL | VISION | {"model_type": "clip_vision_model"}}),
    "xclip": ("feature-extraction", {"text_config": SMALL | TEXT, "vision_config": SMALL | VISION}),
    "qwen2": ("text-generation", DECODER),
    "detr": ("object-detection", {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "num_queries": 10, "use_pretrained_backbone": False}),
}  # fmt: skip
SUBJECTS = {"bert-base": ("bert", {}), "small-bert": ("bert", SMALL | TEXT)}
SIDES = ("bare", "assay", "bare-peer", "ob-process", "ob-inline")
BESIDE = {"assay": "bare", "ob-process": "bare-peer", "ob-inline": "bare-peer"}


HEADS = {
    "fill-mask": "AutoModelForMaskedLM",
    "text2text-generation": "AutoModelForSeq2SeqLM",
    "text-generation": "AutoModelForCausalLM",
    "image-classification": "AutoModelForImageClassification",
    "zero-shot-image-classification": "AutoModelForZeroShotImageClassification",
    "automatic-speech-recognition": "AutoModelForSpeechSeq2Seq",
    "image-text-to-text": "AutoModelForImageTextToText",
    "object-detection": "AutoModelForObjectDetection",
}


def written(folder: Path, kind: str, values: dict[str, Any]) -> None:
    """A folder with a model, its weights drawn: optimum-benchmark makes random ones of a repository on the Hub alone."""
    import transformers

    config = transformers.AutoConfig.for_model(kind, **values)
    head = "AutoModelForCTC" if kind == "wav2vec2" else HEADS.get(KEY[kind][0], "AutoModel")
    try:
        getattr(transformers, head).from_config(config).save_pretrained(folder)
    except Exception as problem:
        print(f"{kind} cannot be written: {problem}", file=sys.stderr)
        config.save_pretrained(folder)


# The sides: each runs in a process of its own and prints a line of JSON.


def bare(args: argparse.Namespace) -> dict[str, Any]:
    """The loop that anybody would write, with whichever transformers its environment has."""
    import torch
    import transformers

    torch.set_num_threads(args.threads)
    config = transformers.AutoConfig.from_pretrained(args.folder)
    model = transformers.AutoModelForMaskedLM.from_config(config).eval().to(args.device)
    ids = torch.randint(5, 196, (1, args.seq), device=args.device)
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    wait = torch.cuda.synchronize if args.device == "cuda" else lambda: None
    with torch.inference_mode():
        return {"median_ms": looped(lambda: model(**given), wait, args.seconds)}


def looped(call: Callable[[], Any], wait: Callable[[], Any], seconds: float) -> float:
    """The median of calls in milliseconds, after a warm-up."""
    began = time.perf_counter()
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


def optimum(args: argparse.Namespace) -> dict[str, Any]:
    """optimum-benchmark with one of its launchers."""
    from optimum_benchmark import (
        Benchmark,
        BenchmarkConfig,
        InferenceConfig,
        InlineConfig,
        ProcessConfig,
        PyTorchConfig,
    )

    launcher = ProcessConfig() if args.side == "ob-process" else InlineConfig()
    backend = PyTorchConfig(
        model=str(args.folder), task=args.task, library="transformers", device=args.device,
        inter_op_num_threads=1, intra_op_num_threads=args.threads,
    )  # fmt: skip
    scenario = InferenceConfig(
        iterations=5,
        duration=max(1, round(args.seconds)),
        warmup_runs=10,
        input_shapes={"batch_size": 1, "sequence_length": args.seq},
    )
    config = BenchmarkConfig(name=args.side, launcher=launcher, backend=backend, scenario=scenario)
    told = Benchmark.launch(config).to_dict()
    found = told.get("forward") or told["prefill"]
    return {"median_ms": statistics.median(found["latency"]["values"]) * 1e3}


def assay(args: argparse.Namespace, *models: str) -> dict[str, Any]:
    """The program itself, on the same folder, with a database of its own."""
    with tempfile.TemporaryDirectory() as own:
        line = [
            args.assay,
            "bench",
            *models,
            "--quick",
            "--repeats",
            "1",
            "--platform",
            args.device,
            "--threads",
            str(args.threads),
        ]
        line += [] if args.sweep is not None else ["--size", "full", "--weights", "random", "--seq", str(args.seq)]
        line += ["--json", "--no-setup", "--db", str(Path(own) / "peers.duckdb")]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    try:
        results = json.loads(done.stdout)["results"]
    except (json.JSONDecodeError, KeyError):
        raise SystemExit(f"assay gave no results: {(done.stderr.splitlines() or ['nothing'])[-1]}") from None
    return {"results": results}


def one(args: argparse.Namespace, side: str) -> dict[str, Any]:
    """One process of one side: its median and its whole time; or why there is none."""
    began = time.perf_counter()
    if side == "assay":
        result = assay(args, str(args.folder))["results"][0]
        wall = time.perf_counter() - began
        if not result.get("latency"):
            return {"error": (result.get("failure") or {}).get("detail") or result.get("note") or result["verdict"]}
        return {"median_ms": result["latency"]["median_ms"], "wall_s": wall}
    python = args.own if side == "bare" else args.peer
    line = [python, str(Path(__file__).resolve()), "--side", side, "--folder", str(args.folder), "--task", args.task]
    line += [
        "--device",
        args.device,
        "--threads",
        str(args.threads),
        "--seq",
        str(args.seq),
        "--seconds",
        str(args.seconds),
    ]
    environ = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(args.threads), "LOG_LEVEL": "ERROR"}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environ)
    wall = time.perf_counter() - began
    if done.returncode != 0:
        return {
            "error": next(
                (x.strip() for x in reversed(done.stderr.splitlines()) if x.strip()), f"status {done.returncode}"
            )[:200]
        }
    return json.loads(done.stdout.splitlines()[-1]) | {"wall_s": wall}


# What is done with them.


def turns(args: argparse.Namespace) -> int:
    """All sides in turns, each turn in an order of its own."""
    order, rows = random.Random(args.seed), {side: [] for side in args.only}
    for turn in range(args.turns):
        for side in order.sample(args.only, len(args.only)):
            found = one(args, side)
            rows[side].append(found)
            print(f"turn {turn + 1} {side}: {json.dumps(found)}", file=sys.stderr)
    print(
        f"{args.subject}, {args.device}, {args.threads} threads, {args.turns} turns, seed {args.seed}, load {os.getloadavg()[0]:.1f}"
    )
    print(
        "| side | median ms | over its bare loop | turns | spread | wall s |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for line in table(rows):
        print(line)
    return 0 if any("median_ms" in x for side in BESIDE for x in rows.get(side, [])) else 1


def table(rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    """A line for each side. A turn counts where both the side and its bare loop have a median."""
    out = []
    for side, found in rows.items():
        known = [x["median_ms"] for x in found if "median_ms" in x]
        if not known:
            out.append(f"| {side} | {next((x['error'] for x in found if 'error' in x), 'not run')} | | | | |")
            continue
        beside = rows.get(BESIDE.get(side, ""), [])
        ratios = sorted(
            a["median_ms"] / b["median_ms"]
            for a, b in zip(found, beside, strict=False)
            if "median_ms" in a and "median_ms" in b
        )
        over = f"{statistics.median(ratios):.3f}" if ratios else ""
        between = f"{ratios[0]:.3f} to {ratios[-1]:.3f}" if ratios else ""
        spread = f"{100 * (max(known) / min(known) - 1):.1f} %"
        wall = statistics.median(x["wall_s"] for x in found if "wall_s" in x)
        lost = f" ({len(found) - len(known)} of {len(found)} failed)" if len(known) < len(found) else ""
        out.append(f"| {side}{lost} | {statistics.median(known):.3f} | {over} | {between} | {spread} | {wall:.1f} |")
    return out


def sweep(args: argparse.Namespace, folders: dict[str, Path]) -> int:
    """The wall time a cell, once through the models."""
    began = time.perf_counter()
    timed = [r for r in assay(args, *folders)["results"] if r.get("latency")]
    own = (time.perf_counter() - began) / max(1, len(timed))
    walls, lost = [], {}
    for name, folder in folders.items():
        args.folder, args.task = folder, KEY[name][0]
        found = one(args, "ob-process")
        if "wall_s" in found:
            walls.append(found["wall_s"])
        else:
            lost[name] = found["error"]
    print(f"{len(folders)} models, tiny, seed {args.seed}, load {os.getloadavg()[0]:.1f}")
    print(f"assay: {own:.1f} s a cell ({len(timed)} timed, each checked)")
    print(
        f"ob-process: {statistics.mean(walls):.1f} s a cell ({len(walls)} timed)"
        if walls
        else "ob-process: none was timed"
    )
    for name, why in lost.items():
        print(f"ob-process does not run {name}: {why}")
    if not timed or not walls:
        return 1
    print(f"ratio: {statistics.mean(walls) / own:.1f}")
    return 0


def main() -> int:
    """All sides, or one process of one."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--peer", help="the Python of bench/peers/requirements.lock")
    parse.add_argument("--own", help="Assay's own Python, for its bare loop")
    parse.add_argument("--assay", default="bin/assay")
    parse.add_argument("--subject", default="bert-base", choices=SUBJECTS)
    parse.add_argument("--only", nargs="+", default=list(SIDES), choices=SIDES, help="these sides alone")
    parse.add_argument(
        "--sweep", nargs="*", choices=KEY, metavar="TYPE", help="wall time a cell of these key models; none is all"
    )
    parse.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    for name, usual in (("turns", 6), ("threads", 1), ("seq", 32), ("seed", 1)):
        parse.add_argument(f"--{name}", type=int, default=usual)
    parse.add_argument("--seconds", type=float, default=2.0)
    for hidden in ("side", "folder", "task", "write"):
        parse.add_argument(f"--{hidden}", default="fill-mask" if hidden == "task" else None, help=argparse.SUPPRESS)
    args = parse.parse_args()
    if args.write:
        for name, (kind, values) in json.loads(args.write).items():
            written(Path(args.folder) / name, kind, values)
        return 0
    if args.side:
        print(json.dumps(optimum(args) if args.side.startswith("ob-") else bare(args)))
        return 0
    if not args.peer or not args.own:
        parse.error("name the two environments with --peer and --own")
    with tempfile.TemporaryDirectory() as folder:
        wanted = (
            {args.subject: SUBJECTS[args.subject]}
            if args.sweep is None
            else {t: (t, KEY[t][1]) for t in args.sweep or KEY}
        )
        line = [args.peer, str(Path(__file__).resolve()), "--folder", folder, "--write", json.dumps(wanted)]
        subprocess.run(line, check=True)
        if args.sweep is not None:
            return sweep(args, {name: Path(folder) / name for name in wanted})
        args.folder = Path(folder) / args.subject
        return turns(args)


if __name__ == "__main__":
    sys.exit(main())
