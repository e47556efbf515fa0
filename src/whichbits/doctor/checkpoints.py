"""Whether each arm's files are here and whole, and if not, whether they can be had."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from whichbits.doctor.diagnosis import Diagnosis, Patient
from whichbits.doctor.hub import check_hub
from whichbits.errors import BadInput
from whichbits.language.amounts import amount
from whichbits.serve.vllm.checkpoint import checkpoint_folder
from whichbits.study.arm import Arm

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json")
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")
_INDEX = "model.safetensors.index.json"


def check_files(patient: Patient) -> Iterator[Diagnosis]:
    """Look at the checkpoints that are on this machine."""
    chats = patient.study is not None and patient.study.request.api == "chat"
    for subject, arm, folder in _started(patient):
        if folder is not None:
            yield from _files(subject, arm, folder, chats=chats)


def check_fetching(patient: Patient) -> Iterator[Diagnosis]:
    """Ask the hub for those that are not."""
    for subject, arm, folder in _started(patient):
        if folder is None:
            yield from check_hub(subject, arm)


def _started(patient: Patient) -> Iterator[tuple[str, Arm, Path | None]]:
    """Yield the arms whose servers vLLM would start here, and where their files are."""
    arms = {} if patient.study is None else patient.study.arms
    for name, arm in arms.items():
        if arm.engine != "vllm" or arm.target is not None:
            continue
        try:
            yield f"arm {name}", arm, checkpoint_folder(arm, os.environ)
        except BadInput:
            continue  # said with the arm itself


def local_model(arm: Arm) -> str:
    """Return the folder of the arm's model if it is on this machine, or else its name."""
    try:
        folder = checkpoint_folder(arm, os.environ)
    except BadInput:
        return arm.model
    return arm.model if folder is None else str(folder)


def _files(subject: str, arm: Arm, folder: Path, *, chats: bool) -> Iterator[Diagnosis]:
    if missing := list(_missing(arm, folder)):
        yield _incomplete(subject, folder, missing)
    if not any((folder / name).exists() for name in _TOKENIZERS):
        yield _without_tokenizer(subject, folder)
    elif chats and not _has_template(arm, folder):
        yield _without_template(subject, folder)


def _incomplete(subject: str, folder: Path, missing: list[str]) -> Diagnosis:
    return Diagnosis(
        "checkpoint_incomplete",
        "problem",
        subject,
        f"{folder} lacks {', '.join(missing)}",
        why="a download that was cut short, or Git LFS pointers that were never fetched",
        fix="fetch it anew (hf download goes on where it ended), or name another folder",
    )


def _without_tokenizer(subject: str, folder: Path) -> Diagnosis:
    return Diagnosis(
        "tokenizer_missing",
        "problem",
        subject,
        f"{folder} has no tokenizer",
        why="quantising tools often write weights and config only",
        fix="copy tokenizer*.json and the like from the original checkpoint",
    )


def _without_template(subject: str, folder: Path) -> Diagnosis:
    return Diagnosis(
        "chat_template_missing",
        "problem",
        subject,
        f"{folder} has no chat template, and the study's requests are chats",
        why="base models have none, and quantising tools may leave it behind; vLLM then refuses each chat",
        fix="copy chat_template.jinja from the original, give options: {chat_template: FILE}, or set "
        "request: {api: completions}",
    )


def _missing(arm: Arm, folder: Path) -> Iterator[str]:
    if not (folder / "config.json").is_file():
        yield "config.json"
    if arm.load_format == "dummy":
        return
    shards = _shards(folder)
    absent = sorted(shard for shard in shards if not (folder / shard).is_file())
    if absent:
        yield f"{len(absent)} of {amount(len(shards), 'shard')} ({absent[0]}{' …' if len(absent) > 1 else ''})"
    elif not any(next(folder.glob(pattern), None) for pattern in _WEIGHTS):
        yield "weights"


def _shards(folder: Path) -> set[str]:
    """Return the shards that the index of the weights names; none where there is no index, or none that can be read."""
    try:
        return set(json.loads((folder / _INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return set()


def _has_template(arm: Arm, folder: Path) -> bool:
    if "chat_template" in {name.replace("-", "_") for name in arm.options}:
        return True
    if any((folder / name).exists() for name in _TEMPLATES):
        return True
    try:
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and bool(settings.get("chat_template"))
