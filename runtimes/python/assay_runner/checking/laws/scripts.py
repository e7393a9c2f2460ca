"""Scripts that show a broken law without Assay: transformers and torch alone, at most twenty lines.

The weights are torch's own for a seed. Where a model's initialisation is too small for the law to break visibly, the
script makes them larger; that it shows the law broken is tried here.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
from collections.abc import Mapping
from typing import Any

import torch

from assay_runner.checking.laws import batching, causal
from assay_runner.checking.laws.case import Case
from assay_runner.checking.laws.law import Pair
from assay_runner.subjects import models
from assay_runner.subjects.outputs import Tensors

_GAINS = (1, 4, 10)
_SHOWS = (1e-3, 1e-5)  # of the largest value: what a script calls visible; a tiny model is rounded by some 1e-7
_LONGEST = 400  # characters of a list of numbers


def script(row: Mapping[str, Any], recipe: Mapping[str, Any], case: Case, pair: Pair) -> str:
    """The text; nothing where no script shows it."""
    for least, gain in itertools.product(_SHOWS, _GAINS):
        text = written(row, recipe, case, pair, gain, least)
        if text and _shows(text):
            return text
    return ""


def written(row: Mapping[str, Any], recipe: Mapping[str, Any], case: Case, pair: Pair, gain: int, least: float) -> str:
    """The text with weights so much larger."""
    body = _BODIES.get(row["law"])
    if body is None:
        return ""
    lines = [*_head(row, recipe, case, gain), *body(case, pair), *_tail(least)]
    return "\n".join(lines) + "\n"


def _head(row: Mapping[str, Any], recipe: Mapping[str, Any], case: Case, gain: int) -> list[str]:
    model, config = models.model_class(recipe), models.config_class(recipe)
    names = [(cls.__name__, cls.__module__) for cls in (config, model)]
    lines = [f"# {row['law']}: {row['why']}", "import torch"]
    lines += [f"from {module} import {name}" for name, module in names]
    lines += [
        "torch.manual_seed(0)",
        f"config = {config.__name__}(**{dict(recipe.get('config', {}))!r})",
        f"model = {model.__name__}(config).eval()",
    ]
    if gain != 1:
        lines.append(f"for p in model.parameters(): p.data.mul_({gain} if p.dim() > 1 else 1)")
    lines.append(
        f"def run(model=model, **given): return model(**given{_call(recipe)}){_path(row['output'], case)}.detach()"
    )
    return lines


def _path(output: str, case: Case) -> str:
    """How an output is reached: `outputs.flatten` calls it by its path. Where the law is about a tensor of the model's,
    it is the first output of numbers."""
    given = case.alone(0)
    name = output if output in given else next(name for name, t in given.items() if t.is_floating_point())
    if name == "output":  # of a model that gives a tensor
        return ""
    return "".join(f"[{part}]" if part.isdigit() else f"['{part}']" for part in name.split("."))


def _call(recipe: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in recipe.get("call", {}).items())


def _given(tensors: Tensors, name: str = "given") -> str:
    """A line that makes the inputs."""
    return f"{name} = dict({', '.join(f'{key}={_tensor(t)}' for key, t in tensors.items())})"


def _tensor(t: torch.Tensor) -> str:
    if t.is_floating_point():
        return f"torch.rand({tuple(t.shape)}) * 2 - 1"
    if t.numel() and bool((t == t.flatten()[0]).all()):
        return f"torch.full({tuple(t.shape)}, {int(t.flatten()[0])})"
    text = json.dumps(t.int().tolist(), separators=(",", ":"))
    if len(text) <= _LONGEST:
        return f"torch.tensor({text})"
    low, high = int(t.min()), int(t.max()) + 1
    return f"torch.randint({low}, {high}, {tuple(t.shape)})"


def _tail(least: float) -> tuple[str, str]:
    return (
        "error = ((one - two).abs().max() / two.abs().max()).item()",
        f"print(f'{{error:.1e}} of the largest value', 'shows' if error > {least} else 'gone', sep='\\n')",
    )


def _padding(case: Case, pair: Pair) -> list[str]:
    words = batching.cuttable(case)
    if pair.what.startswith(batching.HIDDEN):
        one = next(s for s in case.stretches if pair.what.endswith(s.mask))
        quarter = one.length // 4
        changes = [
            f"other['{name}'] = given['{name}'].clone(); "
            f"other['{name}'].narrow({axis}, {one.length - quarter}, {quarter}).mul_(-1)"
            for name, axis in one.along.items()
            if pair.sample[name].is_floating_point()
        ]
        seen = one.length - one.length // 2
        cut = f"t[:, : t.shape[1] * {seen} // {one.length} - 1] if t.dim() > 2 else t"
        return [
            _given(pair.sample),
            "other = dict(given)",
            *changes,
            f"one, two = run(**given), run(**other)  # {seen} of {one.length} positions are visible",
            f"one, two = ({cut} for t in (one, two))",
        ]
    after = pair.what == batching.AFTER
    lines = [
        _given(pair.sample),
        "short = {name: t[:1] for name, t in given.items()}  # the first row, without padding",
    ]
    for one in words:
        kept = one.length - one.count
        start = 0 if after else one.count
        names = [*one.along, *(name for name in ("position_ids",) if name in pair.sample)]
        lines += [f"for name in {names}: short[name] = short[name][:, {start}:{start + kept}]"]
    where = "[:, : two.shape[1]]" if after else "[:, -two.shape[1] :]"
    return [*lines, "one, two = run(**given)[:1], run(**short)",
            f"one = one{where} if one.dim() > 2 else one[:, : two.shape[-1]] if one.dim() > 1 else one"]  # fmt: skip


def _batch(case: Case, pair: Pair) -> list[str]:
    index = int(pair.what.split()[1]) - 1
    rows = ", ".join(f"{name}={_row(case, name, index)}" for name in pair.sample)
    return [
        _given(pair.sample),
        f"alone = dict({rows})  # one of the two rows",
        "one, two = run(**given), run(**alone)",
        "for axis in range(two.dim()):",
        "    size = two.shape[axis]",
        f"    one = one.narrow(axis, 0 if one.shape[axis] == size else {index} * size, size)",
    ]


def _row(case: Case, name: str, index: int) -> str:
    """An input of one row, taken from that of both."""
    one, two = case.one[name], case.two[name]
    axis = next((axis for axis in range(one.dim()) if one.shape[axis] != two.shape[axis]), None)
    size = 0 if axis is None else one.shape[axis]
    return f"given['{name}']" + ("" if axis is None else f".narrow({axis}, {index * size}, {size})")


def _cache(case: Case, pair: Pair) -> list[str]:
    name = causal.text(case)
    settings = {key: value for key, value in causal.settings(case.model).items() if value is not None}
    text = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    masks = [key for key, t in pair.sample.items() if key != name and t.shape == pair.sample[name].shape]
    lines = [_given(pair.sample), f"out = model.generate(**given, eos_token_id=None, {text})"]
    lines += [
        f"given['{key}'] = torch.nn.functional.pad(given['{key}'], "
        f"(0, out.sequences.shape[1] - given['{key}'].shape[1]), value={int('mask' in key)})"
        for key in masks
    ]
    new = causal.NEW
    return [*lines, f"given['{name}'] = out.sequences", "one = torch.stack(out.logits, 1)",
            f"two = model(**given, use_cache=False).logits[:, -{new + 1}:-1]"]  # fmt: skip


def _causality(case: Case, pair: Pair) -> list[str]:
    name = causal.text(case)
    length, count = case.one[name].shape[1], causal.later(case, name)
    return [
        _given(case.row(0)),
        f"other = {{**given, '{name}': {_tensor(pair.sample[name])}}}  # the last {count} ids are others",
        f"one, two = run(**other)[:, :{length - count}], run(**given)[:, :{length - count}]",
    ]


def _attention(case: Case, pair: Pair) -> list[str]:
    masked = [one for one in case.stretches if bool((pair.sample.get(one.mask, torch.ones(1)) == 0).any())]
    lines = [_given(pair.sample), "two = run(**given)", "model.set_attn_implementation('eager')", "one = run(**given)"]
    if masked:
        mask = masked[0].mask
        lines.append(
            f"if one.shape[:2] == given['{mask}'].shape: one, two = (t[given['{mask}'] > 0] for t in (one, two))"
        )
    return lines


def _saving(case: Case, pair: Pair) -> list[str]:
    kind = type(case.model).__name__
    return [
        f"import tempfile; {_given(case.row(0))}",
        "with tempfile.TemporaryDirectory() as folder:",
        "    model.save_pretrained(folder)",
        f"    loaded = {kind}.from_pretrained(folder).eval()",
        "print([n for n, t in model.state_dict().items() if not torch.equal(t, loaded.state_dict()[n])], 'differ')",
        "one, two = run(loaded, **given), run(**given)",
    ]


def _training(case: Case, pair: Pair) -> list[str]:
    return [
        f"{_given(case.row(0))}; two = run(**given)",
        "for m in model.modules():",
        "    m.training = 'running_mean' not in m._buffers",
        "    for o, n in [(o, n) for o in (m, getattr(m, 'config', m)) for n in list(vars(o))]:",
        "        if type(vars(o)[n]) is float and ('drop' in n or 'jitter' in n or n == 'p'): vars(o)[n] = 0.0",
        "one = run(**given)",
    ]


def _repetition(case: Case, pair: Pair) -> list[str]:
    return [
        _given(case.row(0)),
        "torch.manual_seed(0)",
        "two = run(**given)",
        "torch.manual_seed(0)",
        "one = run(**given)",
    ]


_BODIES = {
    "padding": _padding,
    "batch": _batch,
    "cache": _cache,
    "causality": _causality,
    "attention": _attention,
    "saving": _saving,
    "training": _training,
    "repetition": _repetition,
}


def _shows(text: str) -> bool:
    """Whether the script says that it shows something, run here."""
    said = io.StringIO()
    state = torch.get_rng_state()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
            exec(compile(text, "<script>", "exec"), {"__name__": "__main__"})
    except Exception:  # noqa: BLE001 - a script that does not run shows nothing
        return False
    finally:
        torch.set_rng_state(state)
    return said.getvalue().splitlines()[-1:] == ["shows"]
