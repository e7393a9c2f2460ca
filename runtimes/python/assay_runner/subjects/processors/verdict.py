"""The verdict on one recipe: its inputs against all processors of its type."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay_runner.introspection.modalities import CARRIERS
from assay_runner.subjects import models
from assay_runner.subjects.fitting import places
from assay_runner.subjects.fitting.layouts import COMPANIONS

from . import comparing, finding, known, probing

Recipe = Mapping[str, Any]
# Text first: extractors of sound give an attention mask of their own, under the name of the text's.
ORDER = ("text", "image", "video", "audio")
_STATES = "states, codes or features that another part of a model makes"
# Main inputs that come from no processor, whatever the type.
UNASKED = {
    **dict.fromkeys(("past_values", "states"), "numbers that are given unchanged: series, states of a robot"),
    **dict.fromkeys(("hidden_states", "inputs_embeds", "latents", "image_features", "spectrogram", "mel_spectrogram",
                     "audio_mel", "audio_input_ids", "context", "query_embeds", "noise_embeds"), _STATES),
}  # fmt: skip
MAIN = {name for name, _ in CARRIERS} | {"image", "inputs"} | UNASKED.keys()


@dataclass(frozen=True)
class Difference:
    """What is not as a processor has it, and the known reason; without one it is a disagreement."""

    text: str
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """What came of comparing one recipe."""

    type: str
    status: str  # agrees, partly, differs, disagrees or none
    processors: tuple[str, ...]  # the classes that inputs were compared with
    compared: tuple[str, ...]  # inputs that a processor gives
    unchecked: tuple[str, ...]  # main inputs that none gives
    differences: tuple[Difference, ...]
    reasons: tuple[str, ...]  # why processors could not be asked

    def written(self) -> dict[str, Any]:
        """The verdict as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class _Answer:
    """What one processor returns, and the recipe's inputs among it: their name → the one it is returned under."""

    name: str
    seen: Mapping[str, probing.Seen]
    matched: Mapping[str, str]

    def differences(self, specs: Mapping[str, Recipe]) -> dict[str, list[str]]:
        return {
            mine: comparing.differences(mine, comparing.expected(specs[mine]), self.seen[its])
            for mine, its in self.matched.items()
        }


def judge(recipe: Recipe) -> Verdict:
    """Asks every processor of the recipe's type and compares."""
    config = models.config(recipe)
    answers, refusals = _answers(recipe, config)
    specs = {spec["name"]: spec for spec in recipe["inputs"]}
    chosen = _chosen(answers, specs)
    compared = [name for name in specs if any(name in answer.matched for answer in chosen)]
    found = _found(recipe, chosen, specs)
    unchecked = [name for name in specs if name not in compared and (name in MAIN or not compared)]
    return Verdict(
        recipe["type"], _status(found, compared, unchecked), tuple(answer.name for answer in chosen),
        tuple(compared), tuple(unchecked), tuple(found), _reasons(unchecked, refusals),
    )  # fmt: skip


def _status(found: list[Difference], compared: list[str], unchecked: list[str]) -> str:
    if any(not difference.why for difference in found):
        return "disagrees"
    if not compared:
        return "none"
    return "differs" if found else "partly" if unchecked else "agrees"


def _reasons(unchecked: list[str], refusals: list[str]) -> tuple[str, ...]:
    """Why these inputs were not compared."""
    own = dict.fromkeys(UNASKED[name] for name in unchecked if name in UNASKED)
    if len(own) and all(name in UNASKED or name not in MAIN for name in unchecked):
        return tuple(own)
    return tuple(refusals) if unchecked else ()


def _answers(recipe: Recipe, config: Any) -> tuple[list[_Answer], list[str]]:
    """The answers that have to do with the recipe: those that give one of its main inputs."""
    answers, refusals, others = [], [], []
    found = finding.classes(recipe, config)
    for kind in ORDER:
        if kind not in found:
            continue
        try:
            seen = probing.probe(found[kind], recipe, config)
        except probing.CannotMake as error:
            refusals.append(str(error))
            continue
        matched = comparing.renamed(recipe["inputs"], seen, kind)
        if matched.keys() & MAIN:
            answers.append(_Answer(found[kind].cls.__name__, seen, matched))
        elif kind != "text":
            others.append(f"its {found[kind].cls.__name__} gives {', '.join(seen)}")
    return answers, refusals or others or ["the library maps no processor to it"]


def _chosen(answers: list[_Answer], specs: Mapping[str, Recipe]) -> list[_Answer]:
    """Of several that give the same inputs (a picture's and a video's) the one that comes nearest."""
    chosen: list[_Answer] = []
    for answer in sorted(answers, key=lambda answer: _distance(answer, specs)):
        taken = {name for other in chosen for name in other.matched}
        left = {name: its for name, its in answer.matched.items() if name not in taken}
        if left and left.keys() & MAIN:
            chosen.append(_Answer(answer.name, answer.seen, left))
    return chosen


def _distance(answer: _Answer, specs: Mapping[str, Recipe]) -> tuple[int, int]:
    """How far an answer is from a recipe: first by the inputs it does not give, then by differences."""
    return -len(answer.matched), sum(map(len, answer.differences(specs).values()))


def _found(recipe: Recipe, chosen: list[_Answer], specs: Mapping[str, Recipe]) -> list[Difference]:
    parameters = inspect.signature(models.model_class(recipe).forward).parameters
    given = {name for answer in chosen for name in (*answer.seen, *answer.matched)}
    texts: list[tuple[str, str]] = []
    for answer in chosen:
        texts += [(name, text) for name, some in answer.differences(specs).items() for text in some]
        have = {*specs, *answer.matched.values()}
        texts += [(name, f"{name} is given by {answer.name}, the recipe lacks it")
                  for name in comparing.lacking(answer.seen, have, parameters)]  # fmt: skip
        along = [name for name in specs if COMPANIONS.get(name) in answer.matched and name not in comparing.ELSEWHERE]
        texts += [(name, f"{name} is not given by {answer.name}") for name in along if name not in given]
    if any(spec.get("place") for spec in specs.values() if spec["name"] == "input_ids"):
        marks = places.mark_names(recipe["type"], parameters)
        texts += [(name, f"{name} marks the placeholders, the recipe lacks it") for name in marks if name not in specs]
    return [Difference(text, known.reason(recipe["type"], name)) for name, text in texts]
