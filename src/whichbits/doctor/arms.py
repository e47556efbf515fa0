"""Whether each arm could be served as it is written, and whether servers that run already answer."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from whichbits.conduct.preflight import preflight
from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.errors import WhichbitsError
from whichbits.study.arm import Arm
from whichbits.study.model import Study

_CONNECT_SECONDS = 5.0
_SERVER_ERRORS = 500
_SAID_OF_INTERPRETERS = ("vllm_missing",)


def check_arms(patient: Patient) -> Iterator[Diagnosis]:
    """Hold every arm of the study against what its engine takes."""
    if patient.study is None:
        return
    for name, arm in patient.study.arms.items():
        hung = patient.silent.get(str(Path(arm.python or sys.executable))) if arm.engine == "vllm" else None
        subject, refused = f"arm {name}", hung or _refusal(name, arm)
        if refused is None:
            yield good("arm", subject, f"{arm.weight_format} of {arm.model}: the engine takes it as it is written")
        elif refused.code not in _SAID_OF_INTERPRETERS:
            found = refused.what.removeprefix(f"{name}: ")
            yield Diagnosis(refused.code, "problem", subject, found, why=refused.why, fix=refused.fix)


def _refusal(name: str, arm: Arm) -> WhichbitsError | None:
    try:
        preflight({name: arm})
    except WhichbitsError as error:
        return error
    return None


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
