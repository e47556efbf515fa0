"""Of many simulated studies, the intervals hold the truth as often as they say; ``benchmarks/`` has the long run."""

import numpy as np

from tests.analyze.simulated_study import measure, random_study
from whichbits.analyze.crossings.bands import bands
from whichbits.analyze.crossings.decision import decide
from whichbits.analyze.curves.load_curves import MARGIN

STUDIES = 100


def test_the_interval_holds_the_true_crossing_and_few_studies_are_too_noisy() -> None:
    claimed = held = 0
    for number in range(STUDIES):
        rng = np.random.default_rng([1, number])
        study = random_study(rng, crosses=True)
        assert study.crossing is not None
        zeros = decide(bands(measure(study, rng)), MARGIN).zeros
        claimed += bool(zeros)
        held += len(zeros) == 1 and zeros[0].low <= np.log(study.crossing) <= zeros[0].high

    # Four binomial standard errors of 90 studies at 95 % are 9.2 %.
    assert held / claimed > 0.95 - 0.092
    assert claimed > 0.8 * STUDIES


def test_studies_without_a_crossing_hardly_ever_claim_one_though_their_means_often_show_one() -> None:
    claimed = shown = 0
    for number in range(STUDIES):
        rng = np.random.default_rng([2, number])
        study = random_study(rng, crosses=False)
        assert study.crossing is None
        known = bands(measure(study, rng))
        claimed += decide(known, MARGIN).verdict == "crosses"
        shown += bool(known.mean.min() < 0 < known.mean.max())

    # At 5 %, more than 12 of 100 would come up less than once in five hundred times.
    assert claimed <= 12
    assert shown > 25
