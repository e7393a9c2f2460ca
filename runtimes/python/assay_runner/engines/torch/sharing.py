"""Work that ranks share: training by DDP and FSDP2, inference by tensor parallelism.

**Training**: each rank has its share of the batch. Losses, gradients and updates must be those of one process with the
whole batch: the reference of mode `train`. The control is a rank's own gradient before it is shared, which must be
noticed; of one rank, which has the gradients of all, it is a frozen parameter. **Tensor parallel**: the library's own
plan for the type (`tp_plan`) cuts layers; outputs must be those of one process. The control turns the signs of what
another rank holds: rank 0 must see that. Every rank does all of this.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.distributed.device_mesh import init_device_mesh

from assay_runner.checking import numerics, reference
from assay_runner.checking.laws.modes import undropped
from assay_runner.engines import timing
from assay_runner.engines.torch import ranks, stepping, training
from assay_runner.engines.torch.stepping import Trainer
from assay_runner.errors import Unsuited
from assay_runner.subjects import objectives, outputs
from assay_runner.subjects.objectives import Objective
from assay_runner.subjects.outputs import Tensors
from assay_runner.subjects.programs import building

DDP, FSDP, TP = "ddp", "fsdp", "tp"
WARM = 10  # steps, the same number on every rank
INSIDE = {
    DDP: "forward, backward with gradients shared, and the optimiser's step; this rank's share of the batch",
    FSDP: "forward and backward, weights gathered and gradients shared, and the step; this rank's share of the batch",
    TP: "forward, every layer shared by the ranks; inputs resident on each",
}


def run(job: Mapping[str, Any], emit: Any) -> None:
    """Starts the ranks of a job and takes part as the first."""
    with ranks.started(job) as group:
        work(job, emit, group)


def work(job: Mapping[str, Any], emit: Any, group: ranks.Group) -> None:
    """What every rank does. Rank 0's emit reports."""
    from assay_runner.engines.torch.engine import Session

    cell = dict(job["cell"])
    if group.device.type != "cpu":
        cell["device"] = str(group.device.index)
    threads = max(1, int(job.get("threads") or os.cpu_count() or 1) // group.size)
    session = Session({**job, "cell": cell, "threads": threads}, emit)
    kinds: dict[tuple[str, str], Callable[[Session, ranks.Group], None]] = {
        (DDP, "check"): check_training, (DDP, "time"): time_training,
        (FSDP, "check"): check_training, (FSDP, "time"): time_training,
        (TP, "check"): check_layers, (TP, "time"): time_layers,
    }  # fmt: skip
    kinds[cell["parallel"], job["kind"]](session, group)


def told(session: Any, group: ranks.Group, model: torch.nn.Module, **more: Any) -> dict[str, Any]:
    """What a report says of the ranks."""
    sharded = sum(hasattr(p, "to_local") for p in model.parameters())
    return {"way": session.cell["parallel"], "procs": group.size, "backend": group.backend, "sharded": sharded, **more}


# Training.


def share(tensors: Mapping[str, torch.Tensor], batch: int, group: ranks.Group) -> Tensors:
    """A rank's rows of what has a row for each of the batch; Unsuited where something has not."""
    found = {}
    for name, t in tensors.items():
        if not t.dim() or t.shape[0] != batch:
            raise Unsuited(f"{name} of shape {list(t.shape)} has no row for each of {batch}: it cannot be shared")
        each = batch // group.size
        found[name] = t[group.rank * each : (group.rank + 1) * each]
    return found


def _shares(objective: Objective, given: Tensors, batch: int, group: ranks.Group) -> tuple[Objective, Tensors]:
    parts = share(objective.labels, batch, group), share(objective.targets, batch, group)
    return Objective(objective.call, *parts, objective.sizes), share(given, batch, group)


def wrapped(session: Any, model: torch.nn.Module, group: ranks.Group, unused: bool) -> torch.nn.Module:
    """The model as the way of sharing has it; FSDP2 changes it in place."""
    if session.cell["parallel"] == DDP:
        return torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=unused)
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(session.device.torch.type, (group.size,))
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList):
            for layer in module:
                if any(True for _ in layer.parameters()) and _called(layer):
                    fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def _called(layer: torch.nn.Module) -> bool:
    """Whether a layer has a forward of its own, which gathers its weights."""
    return type(layer).forward is not torch.nn.Module.forward and not isinstance(layer, torch.nn.ModuleList)


def _whole(t: torch.Tensor) -> torch.Tensor:
    """All of a tensor of which each rank holds a part. Every rank asks, or nobody gets an answer."""
    return (t.full_tensor() if hasattr(t, "full_tensor") else t).detach().cpu()


def check_training(session: Any, group: ranks.Group) -> None:
    """A few steps on one batch that the ranks share, against one process with all of it."""
    for index, point in enumerate(session.points):
        session.emit.index = index
        given, built = session.inputs(point), session.built()
        model, batch = stepping.suited(session, built), int(point.get("batch") or 1)
        with session.emit.in_phase("reference"):
            objective, wanted = training.expected(session, built, given)
        session.to_device(built)
        own, mine = _shares(objective.on(session.device.torch), session.placed(given), batch, group)
        control = _control(session, model, own, mine, wanted, group)
        unused = len(wanted.gradients) < len(stepping.named(model))
        shared = wrapped(session, model, group, unused)
        began = time.perf_counter_ns()
        with session.emit.in_phase("run"):
            found = _taken(session, group, shared, model, own, mine, wanted.rate)
        run_ms = (time.perf_counter_ns() - began) / 1e6 / (training.STEPS + 1)
        compared = training.compared(session, found, wanted)
        report = session.report(built, point, {})
        report |= training.judged(session, objective, found, wanted, compared, control, run_ms)
        report["placement"] = None
        session.emit.point(index, report | {"ranks": told(session, group, model), "inputs_inside": _inside(session)})


def _inside(session: Any) -> str:
    return INSIDE[session.cell["parallel"]]


def _control(
    session: Any, model: torch.nn.Module, own: Objective, mine: Tensors, wanted: training.Taken, group: ranks.Group
) -> dict[str, Any] | None:
    """What must be noticed: a share that is shared with nobody, or of one rank, which has all, a frozen parameter."""
    if group.size > 1:
        return _unshared(session, model, own, mine, wanted)
    return training.frozen(session, model, own, mine, wanted, training.compared(session, wanted, wanted))


def _unshared(
    session: Any, model: torch.nn.Module, own: Objective, mine: Tensors, wanted: training.Taken
) -> dict[str, Any]:
    """The gradients of this rank's share alone: that nothing was shared must be noticed."""
    with undropped(model):
        own.loss(model, mine).backward()
    found = training.Taken(list(wanted.losses), rate=wanted.rate, updates=wanted.updates)
    found.gradients = {n: p.grad.detach().cpu() for n, p in stepping.named(model).items() if p.grad is not None}
    for p in model.parameters():
        p.grad = None
    seen = training.compared(session, found, wanted)
    note = "" if not seen.passed else "one rank's share has the gradients of all"
    return {
        "kind": "unshared",
        "of": seen.worst,
        "change": min(seen.max_rel, 1e9),
        "pass": not seen.passed,
        "note": note,
    }


def _taken(
    session: Any,
    group: ranks.Group,
    shared: torch.nn.Module,
    model: torch.nn.Module,
    own: Objective,
    mine: Tensors,
    rate: float,
) -> training.Taken:
    seen = training.Taken(rate=rate)
    with undropped(model):
        trainer = _trainer(session, shared, model, own, mine, rate)
        for index in range(training.STEPS + 1):
            torch.manual_seed(session.seed)
            loss = trainer.forward()
            seen.losses.append(group.mean(loss.item()))
            if index == training.STEPS:
                break
            trainer.backward(loss)
            if index == 0:
                named = stepping.named(model)
                seen.gradients = {n: _whole(p.grad) for n, p in named.items() if p.grad is not None}
                before = {n: _whole(p).clone() for n, p in named.items()}
            trainer.step()
            if index == 0:
                seen.updates = {n: _whole(p) - before[n] for n, p in stepping.named(model).items()}
    return seen


def _trainer(
    session: Any, shared: torch.nn.Module, model: torch.nn.Module, own: Objective, mine: Tensors, rate: float
) -> Trainer:
    made = stepping.trainer(session, model, own, mine, rate)
    made.model = shared
    return made


def time_training(session: Any, group: ranks.Group) -> None:
    """Steps that the ranks share, and the same of one rank's share alone, while the others wait."""
    rule = timing.Rule.of(session.job.get("timing"))
    for index, point in enumerate(session.points):
        session.emit.index = index
        built, batch = session.built(), int(point.get("batch") or 1)
        session.to_device(built)
        model, given = stepping.suited(session, built), session.placed(session.inputs(point))
        objective = objectives.choose(model.eval(), given, session.recipe.get("call", {}), session.seed)
        own, mine = _shares(objective.on(session.device.torch), given, batch, group)
        model.train()
        trainer = stepping.trainer(session, model, own, mine, training.TIMED_RATE)
        trainer.backward(trainer.forward())
        unused = any(p.grad is None for p in stepping.named(model).values())
        trainer.optimiser.zero_grad(set_to_none=True)
        alone_ms = _alone(session, group, trainer.whole, rule)
        shared = wrapped(session, model, group, unused)
        made = _trainer(session, shared, model, own, mine, training.TIMED_RATE)
        _report_timed(session, group, built, point, made.whole, rule, alone_ms, {})


def _alone(session: Any, group: ranks.Group, call: Callable[[], None], rule: timing.Rule) -> float:
    """Rank 0's median while the others wait."""
    found = 0.0
    if group.rank == 0:
        timing.warm_up(call, session.device, rule)
        ms = sorted(timing.once(call, session.device) for _ in range(max(5, min(rule.min_n, 32))))
        found = ms[len(ms) // 2]
    return group.mean(found) * group.size


def _report_timed(
    session: Any,
    group: ranks.Group,
    built: building.Built,
    point: Mapping[str, Any],
    call: Callable[[], None],
    rule: timing.Rule,
    alone_ms: float,
    found: Tensors,
) -> None:
    """Times a call that all ranks make the same number of times, and reports."""
    emit, device = session.emit, session.device
    with timing.quiet():
        with emit.in_phase("first"):
            first_ms = timing.once(call, device)
        with emit.in_phase("warmup"):
            warm = [timing.once(call, device) for _ in range(WARM)]
        last = sum(warm[WARM // 2 :]) / (WARM - WARM // 2)
        enough = max(rule.min_n, int(rule.min_s * 1e3 / last))
        count = group.agreed(max(1, min(enough, int(rule.max_s * 1e3 / last))))
        group.meet()
        emit.timed("begin")
        samples = timing.sample(call, device, timing.Rule(min_s=0.0, min_n=count, max_s=1e6), last)
        emit.timed("end")
    report = session.report(built, point, found)
    report["placement"] = None
    median = sorted(samples.ms)[len(samples.ms) // 2]
    ways = told(
        session, group, built.model, alone_ms=alone_ms, efficiency=_efficiency(session, group, alone_ms, median)
    )
    settled = abs(sum(warm[: WARM // 2]) - sum(warm[WARM // 2 :])) <= rule.warmup_tolerance * sum(warm[: WARM // 2])
    emit.point(
        emit.index,
        report
        | {
            "samples_ms": samples.ms,
            "device_samples_ms": samples.device_ms,
            "cpu_ms_per_iter": samples.cpu_ms_per_iter,
            "pace_ms": samples.pace_ms,
            "warmup": {"count": WARM, "mean_ms": sum(warm) / WARM, "stable": settled},
            "sync": "",
            "inputs_inside": _inside(session),
            "phases_ms": {"first": first_ms, "warmup": sum(warm)},
            "ranks": ways,
        },
    )


def _efficiency(session: Any, group: ranks.Group, alone_ms: float, together_ms: float) -> float:
    """The work of all ranks over that of as many alone. A share of a batch is a share of the work; a share of every
    layer is too, and one rank alone did all of it."""
    whole = alone_ms / group.size if session.cell["parallel"] == TP else alone_ms
    return whole / together_ms


# Tensor parallel.


def _cut(session: Any, group: ranks.Group, built: building.Built) -> torch.nn.Module:
    """The same weights, loaded by the library's own plan: each rank has its part of them."""
    if session.recipe.get("program"):
        raise Unsuited(f"{session.recipe['class']} runs by a program: its layers are not shared here")
    if not getattr(built.model, "tp_plan", None) and not getattr(built.model.config, "base_model_tp_plan", None):
        raise Unsuited(f"transformers has no plan by which the layers of {session.recipe['type']} are shared (tp_plan)")
    folder = Path(os.environ.get("ASSAY_MEETING") or ".") / "weights"
    if group.rank == 0 or "ASSAY_MEETING" not in os.environ:
        built.model.save_pretrained(folder)
    group.meet()
    cls = type(built.model)
    try:
        from transformers.distributed import DistributedConfig

        plan: dict[str, Any] = {"distributed_config": DistributedConfig(tp_size=group.size, tp_plan="auto")}
    except (ImportError, TypeError):  # older releases
        plan = {"tp_plan": "auto"}
    return cls.from_pretrained(folder, dtype=session.dtype, local_files_only=True, **plan).eval()


def _forward(session: Any, model: torch.nn.Module, given: Tensors) -> Tensors:
    torch.manual_seed(session.seed)
    with torch.inference_mode():
        found = outputs.flatten(model(**given, **session.recipe.get("call", {})))
        return {n: _whole(t) for n, t in found.items()}


def check_layers(session: Any, group: ranks.Group) -> None:
    """Outputs of layers that the ranks share, against one process."""
    for index, point in enumerate(session.points):
        session.emit.index = index
        given, built = session.inputs(point), session.built()
        with session.emit.in_phase("reference"):
            how = session.forward, session.rebuilt, session.available
            known = reference.compute(built, session.narrow, [given], *how)
        if not known.outputs:
            raise Unsuited(known.note or "no reference could be computed")
        session.open_device()
        with session.emit.in_phase("compile"):
            model = _cut(session, group, built)
        placed = session.placed(given)
        began = time.perf_counter_ns()
        with session.emit.in_phase("run"):
            found = _forward(session, model, placed)
        run_ms = (time.perf_counter_ns() - began) / 1e6
        limit = session.tolerance
        compared = numerics.compare(found, known.outputs[0], session.dtype_name)
        report = session.report(built, point, found)
        report["placement"] = None
        report["numerics"] = compared.report(limit, known.label)
        report["numerics"]["control"] = _turned(session, group, model, placed, known.outputs[0], limit)
        report |= {
            "finite": numerics.finite(found, known.outputs[0]), "constant": outputs.constant(found),
            "phases_ms": {"run": run_ms}, "inputs_inside": _inside(session), "ranks": told(session, group, model),
        }  # fmt: skip
        session.emit.point(index, report)


def _turned(
    session: Any, group: ranks.Group, model: torch.nn.Module, placed: Tensors, expected: Tensors, limit: Any
) -> dict[str, Any]:
    """The last rank's part of one weight has its signs turned: rank 0 must see it, or that part is not used."""
    sharded = [(n, p) for n, p in model.named_parameters() if hasattr(p, "to_local") and p.dim() > 1]
    local = [row for row in sharded if row[1].to_local().shape != row[1].shape and "embed" not in row[0]]
    if not local:
        raise Unsuited(f"the plan of {session.recipe['type']} shares no weight between {group.size} processes")
    name, weight = local[len(local) // 2]
    if group.rank == group.size - 1:
        with torch.no_grad():
            weight.to_local().neg_()
    seen = numerics.compare(_forward(session, model, placed), expected, session.dtype_name)
    change = min(seen.max_rel, 1e9)
    noticed = seen.times(limit) > numerics.CONTROL_FACTOR
    return {"kind": "negate-share", "of": name, "change": change, "pass": noticed, "where": "reference", "note": ""}


def time_layers(session: Any, group: ranks.Group) -> None:
    """Forwards that the ranks share, and of one process with all layers."""
    rule = timing.Rule.of(session.job.get("timing"))
    for index, point in enumerate(session.points):
        session.emit.index = index
        built = session.built()
        arguments = {**session.placed(session.inputs(point)), **session.recipe.get("call", {})}
        with torch.inference_mode():
            session.to_device(built)
            alone_ms = _alone(session, group, lambda b=built, a=arguments: b.model(**a), rule)
        built.model = model = _cut(session, group, built)

        def call(model: torch.nn.Module = model, arguments: dict[str, Any] = arguments) -> None:
            model(**arguments)

        with torch.inference_mode():
            _report_timed(session, group, built, point, call, rule, alone_ms, {})
