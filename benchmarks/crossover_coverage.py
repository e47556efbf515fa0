"""How often the interval of a crossing holds the truth, and how often one is claimed where there is none.

Every study is simulated request by request and goes through the estimator that reports use.

    python -m benchmarks.crossover_coverage --studies 1000 [--percent 90] [--unruly 5]

``--unruly`` makes cells of the highest load shift that many times as far as others, as at saturation they do.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tests.analyze.simulated_study import NOISES, SimulatedStudy, measure, random_study
from whichbits.analyze.crossings.bands import bands
from whichbits.analyze.crossings.decision import ALPHA, decide
from whichbits.analyze.curves.load_curves import MARGIN


@dataclass(frozen=True)
class Outcome:
    """One study: what was concluded, whether the interval holds the truth, and its width as a ratio of loads."""

    study: SimulatedStudy
    verdict: str
    held: bool
    width: float
    held_at_top: bool
    """Whether the 95 % interval of the ratio at the highest load holds the truth."""
    held_by_pool: bool
    """The same, if all loads together alone said how much repeats differ."""


DESIGNS: dict[str, Callable[[SimulatedStudy], bool]] = {
    "all": lambda _: True,
    **{f"{name} noise": lambda study, noise=noise: study.noise == noise for name, noise in NOISES.items()},
    **{f"{n} repeat{'s' if n > 1 else ''}": lambda study, n=n: study.repeats == n for n in range(1, 6)},
    "4 or 5 loads": lambda study: study.loads.size <= 5,
    "6 to 8 loads": lambda study: study.loads.size > 5,
    "16 to 63 requests": lambda study: study.requests < 64,
    "64 to 500 requests": lambda study: study.requests >= 64,
}


def outcomes(studies: int, percent: float, unruly: float, *, crosses: bool) -> Iterator[Outcome]:
    for number in range(studies):
        rng = np.random.default_rng([2026, int(crosses), number])
        study = replace(random_study(rng, crosses=crosses), unruly=unruly)
        known = bands(measure(study, rng, percent))
        decision = decide(known, MARGIN)
        truth = np.log(study.crossing or np.nan)
        held = len(decision.zeros) == 1 and bool(decision.zeros[0].low <= truth <= decision.zeros[0].high)
        width = float(np.exp(decision.zeros[0].high - decision.zeros[0].low)) if decision.zeros else float("nan")
        off = abs(float(known.mean[-1] - study.log_ratio(study.loads[-1:])[0]))
        by_pool = known.critical(ALPHA / 2) * known.standard_error[-1]
        yield Outcome(study, decision.verdict, held, width, off <= known.reach(ALPHA / 2)[-1], off <= by_pool)


def table(crossing: list[Outcome], flat: list[Outcome]) -> Iterator[str]:
    yield (
        "| design | studies that cross | crossing found | interval holds it | median width | found where none is | "
        "ratio at the highest load held | by all loads together |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, belongs in DESIGNS.items():
        mine = [each for each in crossing if belongs(each.study)]
        found = [each for each in mine if each.verdict == "crosses"]
        none = [each.verdict for each in flat if belongs(each.study)]
        both = [each for each in (*crossing, *flat) if belongs(each.study)]
        at_top, by_pool = (
            np.mean(held) for held in zip(*((each.held_at_top, each.held_by_pool) for each in both), strict=True)
        )
        held = np.mean([each.held for each in found])
        width = np.median([each.width for each in found])
        false = none.count("crosses")
        yield (
            f"| {name} | {len(mine)} | {len(found) / len(mine):.0%} | {held:.1%} | x {width:.2f} | "
            f"{false} of {len(none)} | {at_top:.1%} | {by_pool:.1%} |"
        )


def verdicts(flat: list[Outcome]) -> Iterator[str]:
    """Count the verdicts on studies without a crossing by what is true of them."""
    counts: dict[str, list[str]] = defaultdict(list)
    for each in flat:
        counts[kind(each.study)].append(each.verdict)
    yield "| truth | studies | none | tie | noisy | crosses |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, said in sorted(counts.items()):
        shares = " | ".join(f"{said.count(verdict) / len(said):.0%}" for verdict in ("none", "tie", "noisy"))
        yield f"| {name} | {len(said)} | {shares} | {said.count('crosses')} |"


def kind(study: SimulatedStudy) -> str:
    ends = np.abs(study.log_ratio(study.loads[[0, -1]]))
    if ends.max() < 1e-9:
        return "equal arms"
    return "a constant lead" if np.isclose(ends[0], ends[1]) else "a lead that shrinks towards one end"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--percent", type=float, default=50)
    parser.add_argument("--unruly", type=float, default=1)
    asked = parser.parse_args()
    crossing, flat = (
        list(outcomes(asked.studies, asked.percent, asked.unruly, crosses=crosses)) for crosses in (True, False)
    )
    print("\n".join([*table(crossing, flat), "", *verdicts(flat)]))


if __name__ == "__main__":
    main()
