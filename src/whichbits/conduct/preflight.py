"""What can be known of arms before anything is written, fetched or started."""

import asyncio
from collections.abc import Mapping

from whichbits.conduct.cells.token_counts import insist_on_tokenizer
from whichbits.errors import ArmMismatch, WhichbitsError
from whichbits.serve.attached import api_key, insist_on_logs
from whichbits.serve.endpoint.way import insist_on_authorities
from whichbits.serve.engine import engine
from whichbits.study.arm import Arm, ServersThatRun


def preflight(arms: Mapping[str, Arm]) -> None:
    """Check every arm as far as that is cheap: seconds, no download, no server.

    Raises:
        BadInput: an arm cannot be served as it is written; the message names it.
        ArmMismatch: the files of an arm's checkpoint alone contradict its claim.
    """
    for name, arm in arms.items():
        try:
            reasons = engine(arm.engine).check(arm)
            if arm.target is not None:
                _check_target(arm.target)
        except WhichbitsError as error:
            raise error.about(name) from error
        if reasons:
            raise _contradicted(name, arm, reasons)


def _check_target(target: ServersThatRun) -> None:
    api_key(target)
    insist_on_logs(target)
    insist_on_authorities(target)
    insist_on_tokenizer(target)
    if target.kubernetes is not None:
        from whichbits.serve.kubernetes.proxy import insist_on_kubectl

        asyncio.run(insist_on_kubectl(target.kubernetes))


def _contradicted(name: str, arm: Arm, reasons: list[str]) -> ArmMismatch:
    return ArmMismatch(
        "arm_mismatch",
        f"arm {name!r} is not what it claims to be: {'; '.join(reasons)}",
        why=f"it claims {arm.weight_format}, and the files of {arm.model} say otherwise; nothing was started",
        fix="correct the arm's model or weight_format; an engine that narrows weights while loading is told to by "
        "the arm's `quantization`",
    )
