"""Why a client may have been the limit, in words: a run records them in English, and reports know them again."""

from whichbits.language.phrase import Phrase, joined, phrase, recognised

LATE = "{who}: p99 lag {lag:.1f} ms is {share:.0%} of the {what} ({blurred:.1f} ms)"
LATE_READS = "reads: p99 lag {lag:.1f} ms is {share:.0%} of the mean gap between chunks ({mean_gap:.1f} ms)"
LOST_GAPS = "{share:.1%} of the gaps between chunks are lost in late reads that brought several"
BUSY = "the busiest worker used {share:.0%} of one core"
SHORT_GAPS = "{share:.0%} of the gaps between chunks are under 1 ms at a mean of {mean:.1f} ms: {cause}"
HANDSHAKES = "{share:.0%} of the requests had to open a connection, and their latencies contain the handshake"
FEWER_SENT = "{achieved:.3g} requests/s left where {requested:.3g} were planned: a cap or the client held them back"
CLOCKS = (
    "the machines' clocks agree within {apart:.2g} ms, {share:.0%} of the {what} ({blurred:.3g} ms): the order of "
    "sends and the number in flight are blurred, latencies are not"
)

BOUNDS = "; suspect above {suspect:.0%}, limited above {limited:.0%}"
FINE_BOUNDS = "; suspect above {suspect:.1%}, limited above {limited:.1%}"

SENDS = phrase("sends")
TURNS = phrase("turns of a stream")
EVENT_LOOP = phrase("event loop")
MEDIAN_TTFT = phrase("median TTFT")
MEAN_REQUEST = phrase("mean request")
GAP_OF_ARRIVALS = phrase("gap between arrivals")
MEAN_GAP = phrase("mean gap between chunks")
READ_LATE = phrase("the client read late")
SENT_IN_BURSTS = phrase("the server or the network sent in bursts")

_SENTENCES = (LATE_READS, LATE, LOST_GAPS, BUSY, SHORT_GAPS, HANDSHAKES, FEWER_SENT, CLOCKS, BOUNDS, FINE_BOUNDS)
_PARTS: tuple[Phrase, ...] = (
    SENDS,
    TURNS,
    EVENT_LOOP,
    MEDIAN_TTFT,
    MEAN_REQUEST,
    MEAN_GAP,
    GAP_OF_ARRIVALS,
    READ_LATE,
    SENT_IN_BURSTS,
)


def known_again(reason: str) -> Phrase:
    """Return a recorded reason as the phrase that it was; the words of another version stay as they are."""
    head, bounds = without_bounds(reason), reason[reason.find(";") :] if ";" in reason else ""
    return joined("", (head, recognised(bounds, _SENTENCES, _PARTS)))


def without_bounds(reason: str) -> str:
    """Return the same without the bounds that it was held against."""
    return recognised(reason.partition(";")[0], _SENTENCES, _PARTS)
