"""Whether a model that is not on this machine can be fetched: the hub's answer, the token, and room for it."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from whichbits.doctor.diagnosis import Diagnosis, good
from whichbits.errors import BadInput
from whichbits.predict.deployment.models import checkpoint_of
from whichbits.serve.vllm.checkpoint import hub_cache
from whichbits.study.arm import Arm

_HUB = "https://huggingface.co"
_SECONDS = 5.0
_GIB = 2**30
_REFUSALS = (401, 403)
_NOT_FOUND = 404


def check_hub(subject: str, arm: Arm) -> Iterator[Diagnosis]:
    """Say whether the arm's model can be fetched; asks the hub for the header of one file."""
    address = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        folder = _no_folder(subject, arm, "HF_HUB_OFFLINE forbids to fetch it")
        yield folder if _reads_like_a_folder(arm.model) else _offline(subject, arm)
        return
    found = asyncio.run(_asked(subject, arm, address))
    yield found
    if found.state == "good":
        yield from _room(subject, arm)


def _reads_like_a_folder(model: str) -> bool:
    """Return whether a name of the hub's form, ``owner/name``, rather means a folder that is not there.

    It does where there is a folder of the owner's name here, and where the owner would be ``models``: below that
    address the hub has its list of models, so nobody can be called so.
    """
    owner, _, name = model.partition("/")
    return bool(name) and (owner == "models" or Path(owner).is_dir())


def _no_folder(subject: str, arm: Arm, not_fetched: str) -> Diagnosis:
    return Diagnosis(
        "model_folder_missing",
        "problem",
        subject,
        f"there is no folder {arm.model} in {Path.cwd()}",
        why=f"so it is taken for a name on the Hugging Face hub, and {not_fetched}",
        fix="make or fetch it first (a comment in the study may say how), start from where it lies, or name its whole "
        "path",
    )


def _offline(subject: str, arm: Arm) -> Diagnosis:
    return Diagnosis(
        "hub_offline",
        "problem",
        subject,
        f"{arm.model} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it",
        why="the cache of the hub has no such model, or lies elsewhere (HF_HOME)",
        fix="fetch it first (hf download), or name a folder",
    )


async def _asked(subject: str, arm: Arm, address: str) -> Diagnosis:
    """Ask as huggingface_hub does; its servers name what is wrong in a header of their own."""
    import aiohttp

    url = f"{address}/{arm.model}/resolve/{arm.options.get('revision', 'main')}/config.json"
    token = _token()
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    limit = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, trust_env=True) as session,
            session.head(url, headers=headers, allow_redirects=False) as answer,
        ):
            return _answered(subject, arm, address, answer.status, answer.headers.get("X-Error-Code", ""))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        if _reads_like_a_folder(arm.model):
            return _no_folder(subject, arm, f"{address} cannot be reached")
        return _unreachable(subject, arm, address)


def _token() -> str | None:
    if token := os.environ.get("HF_TOKEN"):
        return token.strip()
    home = Path(os.environ["HF_HOME"]) if os.environ.get("HF_HOME") else hub_cache(os.environ).parent
    try:
        return (home.expanduser() / "token").read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def _answered(subject: str, arm: Arm, address: str, status: int, code: str) -> Diagnosis:
    if code == "GatedRepo" or (status in _REFUSALS and not code and _token() is not None):
        return _gated(subject, arm, address)
    is_folder = _reads_like_a_folder(arm.model)
    if status in _REFUSALS or code in ("RepoNotFound", "RevisionNotFound") or (is_folder and status == _NOT_FOUND):
        if is_folder:
            return _no_folder(subject, arm, f"{address} shows no such model")
        return _unknown_there(subject, arm, address)
    return good("hub", subject, f"{arm.model} is not on this machine and will be fetched from {address}")


def _gated(subject: str, arm: Arm, address: str) -> Diagnosis:
    return Diagnosis(
        "hub_gated",
        "problem",
        subject,
        f"{address} gives {arm.model} to accounts with access only, and "
        + ("no token is set" if _token() is None else "the token's account has none"),
        why="its owner grants access one by one, or the token has expired or may not read gated models",
        fix=f"ask for access at {address}/{arm.model}, and export HF_TOKEN (or hf auth login)",
    )


def _unknown_there(subject: str, arm: Arm, address: str) -> Diagnosis:
    return Diagnosis(
        "hub_no_model",
        "problem",
        subject,
        f"{arm.model} is not on this machine, and {address} shows no such model",
        why=f"it is misspelt or private; if a folder is meant, there is none of that name in {Path.cwd()}",
        fix="correct the name, name the folder's whole path, or export HF_TOKEN if the model is private",
    )


def _unreachable(subject: str, arm: Arm, address: str) -> Diagnosis:
    return Diagnosis(
        "hub_unreachable",
        "problem",
        subject,
        f"{arm.model} is not on this machine and cannot be fetched",
        why=f"{address} cannot be reached; if a folder is meant, there is none of that name in {Path.cwd()}",
        fix="fetch it on another machine and name its folder, or set HF_ENDPOINT or HTTPS_PROXY",
    )


def _room(subject: str, arm: Arm) -> Iterator[Diagnosis]:
    """Hold the weights of a model whose shape is known against the room where the hub's copies go."""
    try:
        needed = checkpoint_of(arm).total_bytes / _GIB
    except BadInput:
        return
    folder = hub_cache({**os.environ, **arm.environment}).absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / _GIB
    if free < needed:
        yield Diagnosis(
            "disk_low",
            "problem",
            subject,
            f"{folder} has {free:.1f} GiB free, and {arm.model} has about {needed:.1f} GiB of weights",
            why="models are fetched there before anything starts",
            fix="make room, or set HF_HOME to a larger disk",
        )
