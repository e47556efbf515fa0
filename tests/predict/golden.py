"""Golden predictions: what this release says of both field reports, so that a change that moves them is seen.

    PYTHONPATH=src:. python -m tests.predict.golden

writes them anew; say in the changelog why they moved.
"""

import json
from pathlib import Path

from tests.predict.studies import SEED_A100, SEED_L4
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.quantities import quantities
from whichbits.predict.run import deployments, question_of
from whichbits.record.schema import Cell

FILE = Path(__file__).with_name("golden.json")
_KEPT = ("tpot_ms.p50", "tpot_ms.p99", "itl_ms.p50", "ttft_ms.p50", "output_tokens_per_s", "prefix_hit_rate")


def golden() -> dict[str, dict[str, float]]:
    """Return the kept quantities of every cell of both studies."""
    found = {}
    for study in (SEED_L4, SEED_A100):
        for arm, deployment in deployments(study).items():
            for load in study.fixed_loads:
                question = question_of(study, Cell(0, arm, load.concurrency, load.request_rate, 0))
                said = quantities(play_cell(deployment, question, default_constants(), keep_steps=True))
                found[f"{study.name} {arm} {load}"] = {name: round(said[name], 6) for name in _KEPT}
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden(), indent=1) + "\n")
