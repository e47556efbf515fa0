"""How large the requests of a run were."""

import pyarrow.compute as pc

from whichbits.record.run import Run


def mean_tokens(run: Run) -> float | None:
    """Return the mean of prompt plus output tokens over the requests that succeeded; None if none did.

    Raises:
        BadInput: ``run_broken`` if a file of the run is damaged.
    """
    good = run.requests.filter(pc.field("error_code").is_null())
    mean = pc.mean(pc.add(good["prompt_tokens"], good["output_tokens"])).as_py()
    return None if mean is None else float(mean)
