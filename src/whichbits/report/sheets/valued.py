"""Values with the ends of their intervals, as the sheets of quality write them."""

from whichbits.analyze.quality.measures import Valued
from whichbits.language.phrase import phrase
from whichbits.report.wording import share_text


def share_of(found: Valued) -> str:
    """Return a share with its ends: ``81.2% (79.0% to 83.1%)``."""
    ends = (
        ""
        if found.low is None or found.high is None
        else phrase(" ({low} to {high})", low=share_text(found.low), high=share_text(found.high))
    )
    return phrase("{value}{ends}", value=share_text(found.value), ends=ends)


def points(found: Valued) -> str:
    """Return a difference of shares in points, with its ends: ``-1.3 (-2.9 to +0.4)``."""
    ends = (
        ""
        if found.low is None or found.high is None
        else phrase(" ({low:+.1f} to {high:+.1f})", low=100 * found.low, high=100 * found.high)
    )
    return phrase("{value:+.1f}{ends}", value=100 * found.value, ends=ends)


def between(found: Valued, layout: str) -> str:
    """Return a value with its ends in a layout; of a value that is exact, itself."""
    exact = found.low == found.high
    ends = (
        ""
        if exact
        else phrase(" ({format} to {format_2})", format=layout.format(found.low), format_2=layout.format(found.high))
    )
    return phrase("{format}{ends}", format=layout.format(found.value), ends=ends)
