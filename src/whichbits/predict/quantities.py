"""The numbers of one play that get an interval, under their addresses in summary.json.

Formulas are those of ``analyze.latency`` and ``analyze.throughput``. ITL needs a play that kept its steps.
"""

from collections.abc import Mapping

import numpy as np

from whichbits.predict.simulation.simulate import Played
from whichbits.predict.simulation.timelines import gaps_s
from whichbits.record.timelines import Floats

Quantities = Mapping[str, float]

_PERCENTILES = (50, 90, 99)


def quantities(played: Played) -> Quantities:
    """Return latencies in ms, throughputs in tokens/s, mean batch and prefix hit rate of a cell."""
    scheduled, sent = np.array(played.scheduled_s), np.array(played.sent_s)
    first, last = np.array(played.first_s), np.array(played.last_s)
    output = np.array(played.work.output_tokens)
    several = output >= 2
    tpot = (last - first)[several] / (output[several] - 1)
    seconds = float(last.max() - scheduled.min())
    found: dict[str, float] = {}
    gaps = gaps_s(played)
    times = {
        "ttft_ms": first - scheduled,
        "ttft_from_send_ms": first - sent,
        "tpot_ms": tpot,
        "itl_ms": gaps,
        "e2e_ms": last - scheduled,
    }
    for name, values in times.items():
        if values.size:
            found |= _percentiles(name, values * 1e3)
    prompt = sum(played.work.prompt_tokens)
    found["output_tokens_per_s"] = float(output.sum()) / seconds
    found["total_tokens_per_s"] = (float(output.sum()) + prompt) / seconds
    found["prefix_hit_rate"] = sum(played.cached_tokens) / prompt
    if "tpot_ms.p50" in found:
        found["mean_batch"] = found["output_tokens_per_s"] * found["tpot_ms.p50"] / 1e3
    return found


def _percentiles(name: str, values: Floats) -> dict[str, float]:
    percentiles = np.percentile(values, _PERCENTILES).tolist()
    named = {f"{name}.p{percent}": value for percent, value in zip(_PERCENTILES, percentiles, strict=True)}
    return named | {f"{name}.mean": float(values.mean())}
