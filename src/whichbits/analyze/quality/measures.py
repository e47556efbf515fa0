"""What is concluded about answers, as types: the key ``quality`` of summary.json. Unknown is None.

Log-probabilities are natural; divergences and gaps are in nats a token.
"""

from dataclasses import dataclass
from typing import Literal

QualityVerdict = Literal["reference", "same", "differs", "broken", "unknown"]


@dataclass(frozen=True)
class Valued:
    """A number with its 95 % interval; the ends are None where there is too little to say."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Distance:
    """How far an arm is from the reference over some texts; every number is of the tokens that both scored."""

    texts: int
    tokens: int
    perplexity: float
    reference_perplexity: float
    perplexity_ratio: Valued
    """exp of the cross-entropy gap: the mean of log p_reference - log p_arm over tokens."""
    typical_difference: float
    """Mean of |log p_reference - log p_arm|: what float noise is measured in."""
    kl: Valued | None
    """KL divergence from the reference, a lower bound; None where the likeliest tokens are not known."""
    agreement: Valued | None
    """Share of positions at which both find the same token likeliest."""


@dataclass(frozen=True)
class WorstPosition:
    """A token that the arm finds much less likely than the reference does; ``before`` is what stands before it."""

    text: str
    position: int
    before: str
    token: str
    gap: float
    kl: float | None


@dataclass(frozen=True)
class FreeAnswers:
    """Greedy answers that ended as they liked, paired with the reference's to the same questions.

    Loops are answers whose end repeats itself. ``*_p`` are exact McNemar tests of the change.
    """

    questions: int
    identical: int
    identical_share: Valued
    shared_share: Valued
    """Mean share of the longer answer that stands before the first difference."""
    first_divergence: Valued | None
    """Median number of equal tokens before the first difference, of answers that differ."""
    mean_tokens: float
    reference_mean_tokens: float
    length_ratio: Valued | None
    """Of summed lengths, in tokens."""
    stopped: int
    """Answers that ended by themselves, not at the cap."""
    reference_stopped: int
    stopped_p: float
    loops: int
    reference_loops: int
    loops_p: float


@dataclass(frozen=True)
class TaskQuality:
    """One metric of one task, paired question by question with the reference."""

    task: str
    metric: str
    questions: int
    share: Valued
    """Share of right answers, with Wilson's interval."""
    reference_share: float
    difference: Valued
    """share - reference_share, with an interval of the paired difference."""
    recovery: float | None
    """share / reference_share: the percentage that people quote; None where the reference has none right."""
    only_arm_right: int
    only_reference_right: int
    p_value: float
    """Exact McNemar."""


@dataclass(frozen=True)
class ArmQuality:
    """All that is known of one arm's answers."""

    arm: str
    verdict: QualityVerdict
    way: str | None
    overall: Distance | None = None
    domains: tuple[tuple[str, Distance], ...] = ()
    worst: tuple[WorstPosition, ...] = ()
    answers: FreeAnswers | None = None
    tasks: tuple[TaskQuality, ...] = ()
    unpaired: tuple[str, ...] = ()
    """Texts that were split into other tokens than the reference's, or not scored."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Noise:
    """The reference against itself, asked twice: differences no larger than this say nothing of bits."""

    distance: Distance | None
    largest_difference: float | None
    answers: int
    identical_answers: int


@dataclass(frozen=True)
class Speed:
    """An arm's speed over the reference's at one load; 2.0 is twice as fast."""

    load: float
    ratio: Valued


@dataclass(frozen=True)
class TradeOff:
    """One arm's place among size, speed and quality, in words, too; ratios are to the reference."""

    arm: str
    size_gib: float | None
    size_ratio: float | None
    speeds: tuple[Speed, ...]
    """At the lowest and the highest load that both served."""
    cost: float | None
    """KL divergence, or the cross-entropy gap where that is not known, in nats a token; 0 within noise."""
    on_front: bool | None
    """False if another arm is no worse in anything and better in something; None if too little is known."""
    text: str


@dataclass(frozen=True)
class Quality:
    """What the bits cost in answers."""

    reference: str
    reference_note: str | None
    noise: Noise | None
    arms: tuple[ArmQuality, ...]
    trade_offs: tuple[TradeOff, ...] = ()

    @property
    def broken(self) -> frozenset[str]:
        """Arms that nobody should serve."""
        return frozenset(each.arm for each in self.arms if each.verdict == "broken")
