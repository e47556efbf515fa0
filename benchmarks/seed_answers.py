"""What both field reports found, beside what is predicted without having been fitted on them.

    PYTHONPATH=src:. python benchmarks/seed_answers.py

Errors of every cell are in `benchmarks/prediction_errors.py`. Where requests fall on the A100's two replicas is chance:
ten ways are played.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.predict.field_reports import A100, A100_KV_TOKENS, L4_KV_TOKENS, L4_KV_TOKENS_WITH_GRAPHS, L4_MEAN_BATCH
from tests.predict.studies import SEED_A100, SEED_L4
from whichbits.predict.cell import play_cell
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.quantities import quantities
from whichbits.predict.run import deployments, question_of
from whichbits.predict.simulation.simulate import Played
from whichbits.predict.simulation.timelines import gaps_s
from whichbits.record.schema import Cell

CONSTANTS = default_constants()
_WAYS = 10


def mean_batches() -> Iterator[tuple[str, str, str]]:
    placed = deployments(SEED_L4)
    for (arm, load), measured in L4_MEAN_BATCH.items():
        played = play_cell(placed[arm], question_of(SEED_L4, Cell(0, arm, load, None, 0)), CONSTANTS)
        yield f"mean batch of {arm} at {load}", f"{measured:g}", f"{quantities(played)['mean_batch']:.1f}"


def kv_tokens(deployment: Deployment) -> str:
    return f"{room_of(deployment, CONSTANTS).kv_cache_tokens:,}"


def capacities() -> Iterator[tuple[str, str, str]]:
    for study, counted in ((SEED_L4, L4_KV_TOKENS), (SEED_A100, A100_KV_TOKENS)):
        placed = deployments(study)
        for arm, tokens in counted.items():
            yield f"KV cache of {arm} on {placed[arm].device.name}, tokens", f"{tokens:,}", kv_tokens(placed[arm])
    eager = deployments(SEED_L4)["fp16"]
    graphs = replace(eager, arm=eager.arm.model_copy(update={"enforce_eager": False}))
    yield "the same of fp16 with graphs", f"{L4_KV_TOKENS_WITH_GRAPHS:,}", kv_tokens(graphs)


def way(arm: str, seed: int) -> Played:
    question = replace(question_of(SEED_A100, Cell(0, arm, 32, 10.0, 0)), seed=seed)
    return play_cell(deployments(SEED_A100)[arm], question, CONSTANTS, keep_steps=True)


def fullest_bucket(played: Played) -> int:
    """Return the most requests that are under way at any time of a whole second, as vLLM's benchmark counts them."""
    seconds = range(int(max(played.last_s)) + 1)
    sent, last = np.array(played.sent_s), np.array(played.last_s)
    return max(int(((sent < second + 1) & (last >= second)).sum()) for second in seconds)


def a100() -> Iterator[tuple[str, str, str]]:
    reported = {"bf16": ("190", "42"), "awq": ("21", "47")}
    for arm, measured in A100.items():
        ways = [way(arm, seed) for seed in range(_WAYS)]
        hits = [100 * sum(each.cached_tokens) / sum(each.work.prompt_tokens) for each in ways]
        gaps = [1e3 * gaps_s(each) for each in ways]
        waits = [1e3 * float(np.median(np.array(each.first_s) - np.array(each.sent_s))) for each in ways]
        itl, buckets = reported[arm]
        yield f"hit rate of {arm}, %", f"{100 * measured['prefix_hit_rate']:.1f}", spread(hits, ".1f")
        yield f"median ITL of {arm}, ms", itl, spread([float(np.median(each)) for each in gaps], ".0f")
        yield f"mean ITL of {arm}, ms", f"{measured['tpot_ms.mean']:.0f}", spread([each.mean() for each in gaps], ".0f")
        yield f"median TTFT from send of {arm}, ms", f"{measured['ttft_from_send_ms.p50']:.0f}", spread(waits, ".0f")
        yield f"most requests in a second's bucket, {arm}", buckets, spread([fullest_bucket(e) for e in ways], ".0f")


def spread(values: list[float] | list[int], form: str) -> str:
    return f"{np.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


if __name__ == "__main__":
    print("| | report | predicted |\n|---|---|---|")
    for row in (*capacities(), *mean_batches(), *a100()):
        print("| " + " | ".join(row) + " |")
