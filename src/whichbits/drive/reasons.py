"""Why a client may have been the limit, in words: a run records them in English, and reports know them again."""

from whichbits.language.phrase import Phrase, phrase, recognised

LATE = (
    "{who}: p99 lag {lag:.1f} ms is {share:.0%} of the {what} ({blurred:.1f} ms); "
    "suspect above {suspect:.0%}, limited above {limited:.0%}"
)
LATE_READS = (
    "reads: p99 lag {lag:.1f} ms is {share:.0%} of the mean gap between chunks ({mean_gap:.1f} ms); "
    "suspect from {suspect:.0%}"
)
LOST_GAPS = (
    "{share:.1%} of the gaps between chunks are lost in late reads that brought several; "
    "suspect above {suspect:.0%}, limited above {limited:.0%}"
)
BUSY = "the busiest worker used {share:.0%} of one core; suspect above {suspect:.0%}, limited above {limited:.0%}"
SHORT_GAPS = "{share:.0%} of the gaps between chunks are under 1 ms at a mean of {mean:.1f} ms: {cause}"
HANDSHAKES = "{share:.0%} of the requests had to open a connection, and their latencies contain the handshake"
FEWER_SENT = "{achieved:.3g} requests/s left where {requested:.3g} were planned: a cap or the client held them back"

SENDS = phrase("sends")
TURNS = phrase("turns of a stream")
EVENT_LOOP = phrase("event loop")
MEDIAN_TTFT = phrase("median TTFT")
MEAN_REQUEST = phrase("mean request")
MEAN_GAP = phrase("mean gap between chunks")
READ_LATE = phrase("the client read late")
SENT_IN_BURSTS = phrase("the server or the network sent in bursts")

_SENTENCES = (LATE_READS, LATE, LOST_GAPS, BUSY, SHORT_GAPS, HANDSHAKES, FEWER_SENT)
_PARTS: tuple[Phrase, ...] = (
    SENDS,
    TURNS,
    EVENT_LOOP,
    MEDIAN_TTFT,
    MEAN_REQUEST,
    MEAN_GAP,
    READ_LATE,
    SENT_IN_BURSTS,
)


def known_again(reason: str) -> str:
    """Return a recorded reason as the phrase that it was; one of another version stays as it is."""
    return recognised(reason, _SENTENCES, _PARTS)
