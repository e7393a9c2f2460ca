"""Models that bring their own code: classes named by the auto_map of a config.json.

Running them means running what somebody has published, so a recipe names such classes
only when the user asked for it (--trust-remote-code), and only a child ever imports
them. The code is beside the config.json; code of other repositories is not loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay_runner.errors import BadRecipe, MissingCode
from assay_runner.process import kept_out

# The auto class in auto_map, by preference, and the task that a model of it does.
TASKS = {
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForSeq2SeqLM": "text2text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForImageTextToText": "image-text-to-text",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForImageClassification": "image-classification",
    "AutoModelForSpeechSeq2Seq": "automatic-speech-recognition",
    "AutoModel": "feature-extraction",
}


def wanted(values: Mapping[str, Any]) -> dict[str, str]:
    """The models and the configuration that a config.json brings itself: auto class to module.Class."""
    listed = values.get("auto_map")
    if not isinstance(listed, Mapping):
        return {}
    return {name: listed[name] for name in ("AutoConfig", *TASKS) if isinstance(listed.get(name), str)}


def refuse(path: Path, values: Mapping[str, Any], trusted: bool) -> None:
    """MissingCode, in a sentence, for code that was not asked for or does not lie beside the file."""
    own = wanted(values)
    if not trusted:
        first = next(iter(own.values()))
        raise MissingCode(f"{path} wants to run custom code ({first}): read it, then give --trust-remote-code")
    if "AutoConfig" not in own or len(own) == 1:
        raise BadRecipe(f"{path} names no configuration and model of its own in auto_map")
    for ref in own.values():
        module, _, name = ref.rpartition(".")
        if "--" in ref or not name.isidentifier() or not module.isidentifier():
            raise MissingCode(f"{path} wants to run code of another repository ({ref}): only code beside it is run")
        if not (path.parent / f"{module}.py").is_file():
            raise MissingCode(f"{path} wants to run {module}.py, which is not beside it")


def head(values: Mapping[str, Any], task: str) -> tuple[str, str]:
    """(task, module.Class) of the model for a task, or of the first one in the table's order."""
    own = wanted(values)
    for name, does in TASKS.items():
        if name in own and task in ("", does):
            return does, own[name]
    raise BadRecipe(f"the model has no head of its own for task {task!r}")


def found(folder: str, ref: str) -> type:
    """Imports a class from the code beside a config.json. It may need more than the models of transformers do."""
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    kept_out.show()
    return get_class_from_dynamic_module(ref, folder, local_files_only=True)
