"""Where an arm's checkpoint lies on this machine, if it does, and what its files say of it."""

from collections.abc import Mapping
from pathlib import Path

from whichbits.checkpoint.read import read_checkpoint
from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.study.arm import Arm


def checkpoint_folder(arm: Arm, environment: Mapping[str, str]) -> Path | None:
    """Return the folder that holds ``arm.model``; None if it is a name on the hub that was not fetched yet.

    Raises:
        BadInput: ``vllm_model_missing`` if the model of a server to be started is a path to nothing.
    """
    path = Path(arm.model).expanduser()
    if path.is_dir():
        return path
    if "://" in arm.model:
        return None
    if _is_a_path(arm.model):
        if arm.target is None and not path.exists():
            raise _missing(arm.model)
        return None
    return _snapshot(arm, {**environment, **arm.environment})


def checkpoint_facts(folder: Path) -> dict[str, Fact]:
    """Return what config.json and the headers of the weights say, without the list of layers.

    A folder that cannot be read as a Hugging Face checkpoint may still be one that vLLM serves: then the only fact is
    ``checkpoint_unread``, with the reason, and nothing of it can be proven.
    """
    try:
        checkpoint = read_checkpoint(folder)
    except BadInput as unread:
        return {"checkpoint_unread": Fact(unread.what, str(folder))}
    known = {name: value for name, value in checkpoint.scalars().items() if value is not None}
    # The server has a `dtype` of its own: what it computes in.
    return {("checkpoint_dtype" if name == "dtype" else name): Fact(known[name], str(folder)) for name in known}


def _is_a_path(model: str) -> bool:
    return model.startswith(("/", ".", "~")) or model.count("/") > 1


def _snapshot(arm: Arm, environment: Mapping[str, str]) -> Path | None:
    """Return the hub's local copy: https://huggingface.co/docs/huggingface_hub/guides/manage-cache."""
    repository = hub_cache(environment) / f"models--{arm.model.replace('/', '--')}"
    revision = str(arm.options.get("revision", "main"))
    reference = repository / "refs" / revision
    commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else revision
    snapshot = repository / "snapshots" / commit
    return snapshot if (snapshot / "config.json").is_file() else None


def hub_cache(environment: Mapping[str, str]) -> Path:
    """Return the folder of the copies that were fetched from the hub."""
    if cache := environment.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    caches = environment.get("XDG_CACHE_HOME", "~/.cache")
    return Path(environment.get("HF_HOME") or f"{caches}/huggingface").expanduser() / "hub"


def _missing(model: str) -> BadInput:
    return BadInput(
        "vllm_model_missing",
        f"there is no model at {model}",
        why="it reads like a path; relative ones start where whichbits runs",
        fix="correct the path, or name a model of the Hugging Face hub as owner/name",
    )
