"""From what arms said to what it means: each arm against the reference, and the reference against itself."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whichbits.analyze.quality.distance import PairedText, distance, largest_difference, paired, worst
from whichbits.analyze.quality.free_answers import compare_answers, identical
from whichbits.analyze.quality.measures import ArmQuality, Distance, Noise, Quality, QualityVerdict
from whichbits.analyze.quality.tasks import compare_tasks
from whichbits.language.phrase import phrase
from whichbits.quality.asked import Asked, FreeAnswer, ScoredText
from whichbits.quality.store import read_asked
from whichbits.quality.task_results import Scores, read_scores
from whichbits.record.schema import ArmRecord, Manifest
from whichbits.study.quality import SIXTEEN_BITS

BROKEN = math.log(2)
"""A cross-entropy gap beyond this, in nats: the perplexity doubled. Four bits, well made, cost some percent."""
_NOISE_TIMES = 2.0
"""Another start of the same server differs by about as much as a second asking; twice that is no difference yet."""
_ROUNDING = 1e-6


def read_quality(folder: Path, manifest: Manifest) -> Quality | None:
    """Read and judge what a run's arms said; None if the run did not ask.

    Raises:
        BadInput: ``run_broken``.
    """
    said = read_asked(folder)
    if not said:
        return None
    scores = {arm: read_scores(folder, arm) for arm in said}
    return judge(said, _reference(manifest, said), manifest.arms, scores)


def judge(
    said: Mapping[str, Asked],
    reference: str,
    records: Mapping[str, ArmRecord],
    scores: Mapping[str, Sequence[Scores]] | None = None,
) -> Quality:
    """Hold every arm against the reference; without what that said, verdicts are unknown."""
    scores = scores or {}
    noise = _noise(said[reference]) if reference in said else None
    order = [*records, *(arm for arm in said if arm not in records)]
    arms = tuple(_arm(said[arm], said.get(reference), noise, scores) for arm in order if arm in said)
    return Quality(reference, reference_note(records.get(reference)), noise, arms)


def reference_note(record: ArmRecord | None) -> str | None:
    """Return what to bear in mind of a 16-bit reference whose weights were made from narrower ones."""
    fact = None if record is None else record.checkpoint.get("made_from_type")
    if record is None or fact is None or fact.value in (None, "F16", "BF16", "F32"):
        return None
    return phrase(
        "{arm} is {weight_format}, but its weights are those of a {value} checkpoint at more width: "
        "distances to it are distances to an already quantised model.",
        arm=record.arm,
        weight_format=record.weight_format,
        value=fact.value,
    )


def _reference(manifest: Manifest, said: Mapping[str, Asked]) -> str:
    study: dict[str, Any] = manifest.study
    named = (study.get("quality") or {}).get("reference")
    arms: dict[str, Any] = study.get("arms", {})
    wide = (name for name, arm in arms.items() if arm.get("weight_format") in SIXTEEN_BITS)
    return str(named or next(wide, next(iter(said))))


def _noise(asked: Asked) -> Noise:
    first, second = (_texts(asked, asking) for asking in (0, 1))
    pairs, _ = paired(second, first)
    again = _answers(asked, 1)
    largest = largest_difference(pairs) if pairs else None
    return Noise(distance(pairs), largest, len(again), identical(_answers(asked, 0), again))


def _arm(
    asked: Asked, reference: Asked | None, noise: Noise | None, scores: Mapping[str, Sequence[Scores]]
) -> ArmQuality:
    if reference is None:
        return ArmQuality(asked.arm, "unknown", asked.way, notes=asked.notes)
    pairs, unpaired = paired(_texts(asked, 0), _texts(reference, 0))
    overall = distance(pairs)
    is_reference = asked.arm == reference.arm
    theirs = _answers(reference, 0)
    return ArmQuality(
        arm=asked.arm,
        verdict="reference" if is_reference else verdict(overall, noise),
        way=asked.way,
        overall=overall,
        domains=tuple(_by_domain(pairs)),
        worst=() if is_reference else worst(pairs, 0.0 if noise is None else noise.largest_difference or 0.0),
        answers=compare_answers(_answers(asked, 0), theirs),
        tasks=tuple(compare_tasks(scores.get(asked.arm, ()), scores.get(reference.arm, ()))),
        unpaired=tuple(unpaired),
        notes=asked.notes,
    )


def verdict(found: Distance | None, noise: Noise | None) -> QualityVerdict:
    """Say whether an arm is broken, no different from the reference beyond its noise, or different."""
    if found is None:
        return "unknown"
    ratio = found.perplexity_ratio
    if (ratio.value if ratio.low is None else ratio.low) > math.exp(BROKEN):
        return "broken"
    if noise is None or noise.distance is None:
        return "differs"
    quiet = noise.distance
    pairs = [(found.typical_difference, quiet.typical_difference)]
    if found.kl is not None and quiet.kl is not None:
        pairs.append((found.kl.value, quiet.kl.value))
    return "same" if all(value <= _NOISE_TIMES * bound + _ROUNDING for value, bound in pairs) else "differs"


def _by_domain(pairs: Sequence[PairedText]) -> Iterable[tuple[str, Distance]]:
    for domain in dict.fromkeys(pair.text.domain for pair in pairs):
        found = distance([pair for pair in pairs if pair.text.domain == domain])
        if found is not None:
            yield domain, found


def _texts(asked: Asked, asking: int) -> list[ScoredText]:
    return [text for text in asked.texts if text.asking == asking]


def _answers(asked: Asked, asking: int) -> list[FreeAnswer]:
    return [answer for answer in asked.answers if answer.asking == asking]
