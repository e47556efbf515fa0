"""Judged arms made by hand."""

from dataclasses import replace

from whichbits.analyze.quality.measures import (
    ArmQuality,
    Distance,
    FreeAnswers,
    Noise,
    Quality,
    QualityVerdict,
    Valued,
    WorstPosition,
)

EXACT = Valued(1.0, 1.0, 1.0)


def distance(ratio: float = 1.012, kl: float | None = 0.004, agreement: float | None = 0.994) -> Distance:
    return Distance(
        texts=37,
        tokens=20_000,
        perplexity=8.0 * ratio,
        reference_perplexity=8.0,
        perplexity_ratio=Valued(ratio, ratio - 0.002, ratio + 0.002),
        typical_difference=0.05,
        kl=None if kl is None else Valued(kl, 0.9 * kl, 1.1 * kl),
        agreement=None if agreement is None else Valued(agreement, agreement - 0.001, agreement + 0.001),
    )


def arm(name: str, verdict: QualityVerdict = "differs", overall: Distance | None = None) -> ArmQuality:
    found = overall or distance()
    return ArmQuality(name, verdict, "prompt_logprobs", found, (("prose", found),))


def free(**changes: float) -> FreeAnswers:
    """Answers like the reference's, but for the changes."""
    alike = FreeAnswers(
        questions=24,
        identical=10,
        identical_share=Valued(10 / 24, 0.25, 0.6),
        shared_share=Valued(0.7, 0.6, 0.8),
        first_divergence=Valued(20.0, 9.0, 40.0),
        mean_tokens=100.0,
        reference_mean_tokens=99.0,
        length_ratio=Valued(1.01, 0.95, 1.07),
        stopped=15,
        reference_stopped=15,
        stopped_p=1.0,
        loops=0,
        reference_loops=0,
        loops_p=1.0,
    )
    return replace(alike, **changes)  # type: ignore[arg-type]


def quality(*others: ArmQuality, reference: str = "bf16") -> Quality:
    itself = arm(reference, "reference", replace(distance(), perplexity_ratio=EXACT, kl=Valued(0.0, 0.0, 0.0)))
    noise = Noise(replace(distance(), typical_difference=0.001, kl=Valued(1e-6, 0.0, 2e-6)), 0.02, 24, 23)
    return Quality(reference, None, noise, (itself, *others))


WORST = WorstPosition("prose/<b>", 12, "the key is | 58", "3", 4.5, 2.0)
