"""What an arm is taken for, though nothing in the run shows it."""

from collections.abc import Iterator
from typing import Any

from whichbits.analyze.findings.mocks import is_mock
from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import Finding
from whichbits.language.phrase import joined, listed, phrase
from whichbits.record.schema import ArmRecord
from whichbits.serve.asked import untold
from whichbits.study.arm import EngineSettings

_STORED = "linear_bits"
_SAID = ("quantization", "quant_kernel_for", "quant_kernels")


def claims_not_proven(observed: Observed) -> Iterator[Finding]:
    """Name arms whose bits, or whose settings, nobody confirmed or denied: checkpoint, server and log are silent."""
    if observed.manifest.source != "measured":
        return
    arms = [arm for arm in observed.manifest.arms.values() if arm.replicas and not is_mock(arm)]
    silent = [arm for arm in arms if arm.weight_format != "unknown" and not _bits_told(arm)]
    settings = {arm.arm: names for arm in arms if (names := _untold_settings(observed, arm))}
    if silent or settings:
        text = joined(" ", [*_of_bits(silent), *_of_settings(settings)])
        lines = [phrase("{arm}: no fact {names}", arm=arm.arm, names=listed((_STORED, *_SAID))) for arm in silent]
        lines += [phrase("{arm}: no fact {names}", arm=arm, names=listed(names)) for arm, names in settings.items()]
        settled = phrase("the same run with `target.logs`, or for the bits a local path as the arm's `model`")
        yield Finding("observed", "claim_not_proven", text, tuple(lines), settled)


def _bits_told(arm: ArmRecord) -> bool:
    """Return whether the files, or each server, say of how many bits the weights are; a method of None says 16."""
    return _STORED in arm.checkpoint or all(any(name in each.facts for name in _SAID) for each in arm.replicas)


def _of_bits(silent: list[ArmRecord]) -> Iterator[str]:
    if silent:
        yield (
            phrase(
                "Nothing shows that {names}: no checkpoint could be read on this machine, and the servers name "
                "neither a quantisation nor its kernels. The numbers are those of whatever is served there.",
                names=listed(
                    phrase("{arm} is {weight_format}", arm=arm.arm, weight_format=arm.weight_format) for arm in silent
                ),
            )
        )


def _of_settings(settings: dict[str, list[str]]) -> Iterator[str]:
    if settings:
        each = listed(phrase("{names} of {arm}", names=listed(names), arm=arm) for arm, names in settings.items())
        yield phrase(
            "What the study says of {each} was not applied, since the servers ran already, and they do not tell it.",
            each=each,
        )


def _untold_settings(observed: Observed, record: ArmRecord) -> list[str]:
    arm: dict[str, Any] = observed.manifest.study.get("arms", {}).get(record.arm) or {}
    if arm.get("target") is None:
        return []
    asked = {name: arm[name] for name in EngineSettings.model_fields if arm.get(name) is not None}
    return list(dict.fromkeys(name for each in record.replicas for name in untold(asked, each.facts)))
