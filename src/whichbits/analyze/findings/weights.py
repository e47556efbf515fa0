"""How much of a narrow arm's weights is narrow."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed, is_narrow
from whichbits.analyze.summary import Finding
from whichbits.language.phrase import listed, phrase

MOST = 0.95


def partly_quantised(observed: Observed) -> Iterator[Finding]:
    """Name narrow arms a part of whose linear weights stayed wide."""
    shares = {
        name: share
        for name, arm in observed.arms.items()
        if is_narrow(arm) and isinstance(share := arm.facts.get("quantized_share"), float) and share < MOST
    }
    if shares:
        told = listed(
            phrase("{share:.0%} of the linear weights of {name}", share=share, name=name)
            for name, share in shares.items()
        )
        text = phrase(
            "Only {told} are stored in fewer bits; the rest, as a checkpoint's list of exceptions leaves it "
            "(lm_head, a vision tower, some experts), is read in 16 bits by every step. The arm cannot gain "
            "what its name says.",
            told=told,
        )
        lines = tuple(
            phrase("{name}: quantized_share {share:.3f}", name=name, share=share) for name, share in shares.items()
        )
        yield Finding("observed", "partly_quantised", text, lines, phrase("a checkpoint without these exceptions"))
