"""Whether each arm could be served here: its files, its kernel on this card, the memory that would remain."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from whichbits.conduct.preflight import preflight
from whichbits.doctor.diagnosis import Diagnosis, Patient, good, unknown
from whichbits.errors import BadInput, WhichbitsError
from whichbits.hardware.gpu_states import gpu_states
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.serve.vllm.checkpoint import checkpoint_folder
from whichbits.study.arm import Arm
from whichbits.study.model import Study

_HUB = "https://huggingface.co"
_CONNECT_SECONDS = 5.0
_SERVER_ERRORS = 500
_SAID_OF_INTERPRETERS = ("vllm_missing", "vllm_python")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json")


def check_arms(patient: Patient) -> Iterator[Diagnosis]:
    """Look at every arm of the study."""
    if patient.study is None:
        return
    card = next((state.name for state in gpu_states()), None) or patient.study.gpu
    for name, arm in patient.study.arms.items():
        yield from _arm(name, arm, card, patient.study.engine_version)


def _arm(name: str, arm: Arm, card: str | None, engine_version: str | None) -> Iterator[Diagnosis]:
    subject = f"arm {name}"
    refused = _refusal(name, arm)
    if refused is None:
        yield good("arm", subject, f"{arm.weight_format} of {arm.model}: the engine takes it as it is written")
    elif refused.code not in _SAID_OF_INTERPRETERS:
        found = refused.what.removeprefix(f"{name}: ")
        yield Diagnosis(refused.code, "problem", subject, found, why=refused.why, fix=refused.fix)
        return
    if arm.engine == "vllm" and arm.target is None:
        yield from _files(subject, arm)
        if card is not None:
            yield from _on_card(subject, arm, card, engine_version)


def _refusal(name: str, arm: Arm) -> WhichbitsError | None:
    try:
        preflight({name: arm})
    except WhichbitsError as error:
        return error
    return None


def _files(subject: str, arm: Arm) -> Iterator[Diagnosis]:
    folder = checkpoint_folder(arm, os.environ)
    if folder is None:
        yield _hub(subject, arm)
    elif not any((folder / name).exists() for name in _TOKENIZERS):
        yield Diagnosis(
            "tokenizer_missing",
            "problem",
            subject,
            f"{folder} has no tokenizer",
            why="quantising tools often write weights and config only",
            fix="copy tokenizer*.json and the like from the original checkpoint",
        )


def _hub(subject: str, arm: Arm) -> Diagnosis:
    address = os.environ.get("HF_ENDPOINT") or _HUB
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        return Diagnosis(
            "hub_offline",
            "problem",
            subject,
            f"{arm.model} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it",
            why="the cache of the hub has no such model, or lies elsewhere (HF_HOME)",
            fix="fetch it first (hf download), or name a folder",
        )
    if reachable(address):
        return good("hub", subject, f"{arm.model} will be fetched from {address}")
    return Diagnosis(
        "hub_unreachable",
        "problem",
        subject,
        f"{arm.model} is not on this machine, and {address} cannot be reached",
        why="no network, a proxy that is not set, or a misspelt path that looks like a hub's name",
        fix="fetch it on another machine and name its folder, or set HF_ENDPOINT or HTTPS_PROXY",
    )


def reachable(address: str) -> bool:
    """Return whether something listens at the address, or whether a proxy stands before it and will know."""
    if os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
        return True
    parts = urlsplit(address)
    try:
        with socket.create_connection(
            (parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)), _CONNECT_SECONDS
        ):
            return True
    except OSError:
        return False


def _on_card(subject: str, arm: Arm, card: str, engine_version: str | None) -> Iterator[Diagnosis]:
    """Say which kernel would run and what the KV cache would hold, on the card that is here or that the study names."""
    try:
        deployment = Deployment.of(arm, card, engine_version)
        room = room_of(deployment, default_constants())
    except BadInput as refused:
        state = "problem" if refused.code in ("kernel_impossible", "does_not_fit") else "unknown"
        if state == "unknown":
            yield unknown(refused.code, subject, refused.what)
        else:
            yield Diagnosis(refused.code, "problem", subject, refused.what, why=refused.why, fix=refused.fix)
        return
    kernel = deployment.kernel.name or "16-bit products"
    note = f" ({deployment.kernel.note})" if deployment.kernel.note else ""
    yield good(
        "arm_fits",
        subject,
        f"on {card}: {kernel}{note}; {room.weights_gib:.1f} GiB of weights leave about {room.kv_cache_tokens:,} tokens "
        "of KV cache",
    )


def check_targets(patient: Patient) -> Iterator[Diagnosis]:
    """Ask servers that run already whether they are healthy."""
    if patient.study is None:
        return
    for name, arm in patient.study.arms.items():
        for url in () if arm.target is None else arm.target.urls or ():
            yield asyncio.run(_target(f"arm {name}", str(url)))


async def _target(subject: str, url: str) -> Diagnosis:
    import aiohttp

    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_CONNECT_SECONDS)) as session,
            session.get(url.rstrip("/") + "/v1/models") as answer,
        ):
            # A refused key or an unknown path is an answer, too.
            alive = answer.status < _SERVER_ERRORS
            return good("target", subject, f"{url} answers") if alive else _dead(subject, f"{url}: {answer.status}")
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return _dead(subject, f"{url} does not answer: {error or type(error).__name__}")


def _dead(subject: str, found: str) -> Diagnosis:
    return Diagnosis(
        "target_dead",
        "problem",
        subject,
        found,
        why="it has ended, still starts, or listens elsewhere",
        fix="start it, or correct the address under `target`",
    )


def paths_of(study: Study) -> dict[str | None, tuple[str, ...]]:
    """Return the interpreters that a study's vLLM arms start with, and which arms those are."""
    users: dict[str | None, list[str]] = {}
    for name, arm in study.arms.items():
        if arm.engine == "vllm" and arm.target is None:
            users.setdefault(None if arm.python is None else str(Path(arm.python)), []).append(name)
    return {python: tuple(arms) for python, arms in users.items()}
