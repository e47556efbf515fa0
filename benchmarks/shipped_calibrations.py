"""The calibrations that whichbits ships: how they are made, and how far off predictions are before and after.

    PYTHONPATH=src:. python benchmarks/shipped_calibrations.py           # the table of docs/predict.md
    PYTHONPATH=src:. python benchmarks/shipped_calibrations.py --write   # fit anew, and write the package's data
    PYTHONPATH=src:. python benchmarks/shipped_calibrations.py --write-errors   # what reports of predictions quote

Only what belongs to the GPU and the engine is fitted: constants of the host and of the front end are held, and of what
was measured TPOT and throughput decide, which rest on steps. Rows that a calibration was fitted to are scored too, and
marked: there it cannot but be better.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.prediction_errors import a100, l4, predicted
from tests.predict.h200_runs import Which, h200_observations
from whichbits.predict.accuracy import Accuracy
from whichbits.predict.calibrate import Calibration, Observation, calibrate
from whichbits.predict.constants import Constant, Constants, default_constants
from whichbits.predict.shipped import OF_THE_HOST, Provenance, Shipped, shipped_calibrations

FITTED_UP_TO = 64
"""Concurrent requests: beyond, an H200 waits for its front end, and no constant of a kernel explains that."""
QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "TPOT": ("tpot_ms.p50", "tpot_ms.mean"),
    "tokens/s": ("output_tokens_per_s", "total_tokens_per_s"),
    "TTFT": ("ttft_ms.p50", "ttft_from_send_ms.p50"),
}
_FITTED = (*QUANTITIES["TPOT"], *QUANTITIES["tokens/s"])
_FOLDER = Path(__file__).parents[1] / "src/whichbits/predict/calibrations"


@cache
def h200(which: Which, repeat: int | None) -> tuple[Observation, ...]:
    """Return a run's cells with what one repeat measured, or the mean of all."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(h200_observations(which, Path(folder), repeat))


def _loads(observations: Sequence[Observation], *, up_to: int) -> list[Observation]:
    return [each for each in observations if (each.question.concurrency or 0) <= up_to]


def _beyond(observations: Sequence[Observation], load: int) -> list[Observation]:
    return [each for each in observations if (each.question.concurrency or 0) > load]


@dataclass(frozen=True)
class Source:
    """What a calibration is fitted to, what else there is to hold it against, and where it is from."""

    name: str
    rows: Sequence[Observation]
    others: Mapping[str, Sequence[Observation]]
    provenance: Mapping[str, object]
    ships: bool = True
    """Whether it helps where it was not fitted."""


def sources() -> Iterator[Source]:
    chat = _loads(h200("chat", 0), up_to=FITTED_UP_TO)
    yield Source(
        "h200-vllm-0.25",
        chat,
        {
            "the same loads, repeat 2": _loads(h200("chat", 1), up_to=FITTED_UP_TO),
            "128 and 256 at once, both repeats": _beyond(h200("chat", None), FITTED_UP_TO),
            "qwen2.5-7b-search: other starts, random weights, 1 to 108": _loads(h200("search", None), up_to=128),
            "qwen2.5-7b-search at 512": _beyond(h200("search", None), 128),
            "qwen3-14b-prefixes: another model, two cards": h200("prefixes", None),
            "run since, a longer qwen2.5-7b-search, 1 to 119": _loads(h200("longer_search", None), up_to=120),
            "run since, the same at 131 to 512": _beyond(h200("longer_search", None), 120),
            "run since, qwen3-14b-one-replica": h200("one_replica", None),
        },
        {
            "gpu": "H200",
            "version": "0.25",
            "made": "2026-11-30",
            "runs": "whichbits run of 2026-11-29, qwen2.5-7b-chat-h200, vLLM 0.25.1 with CUDA graphs",
            "formats": ("fp16", "w8a8-fp8", "w8a8-int8", "w4a16"),
            "fitted_to": "median TPOT and throughput at 1 to 64 at once, repeat 1",
        },
    )
    yield Source(
        "l4-vllm-0.27",
        l4(),
        {},
        {
            "gpu": "L4",
            "version": "0.27",
            "made": "2026-11-30",
            "runs": "the second field report, Qwen2.5-7B, vLLM 0.27.1 without CUDA graphs",
            "formats": ("fp16", "w8a8-fp8", "w4a16"),
            "fitted_to": "its published median TPOT and throughput at 1, 10 and 100 at once",
        },
        ships=False,
    )
    yield Source(
        "a100-vllm-0.11",
        a100(),
        {},
        {
            "gpu": "A100 80GB SXM",
            "version": "0.11",
            "made": "2026-11-30",
            "runs": "the first field report, Qwen3-14B on two replicas, vLLM 0.11.0",
            "formats": ("bf16", "w4a16"),
            "fitted_to": "its published mean TPOT and throughput at 10 requests/s under 32",
        },
    )


def left_out() -> Iterator[tuple[str, list[Observation], list[Observation]]]:
    """Yield, for reports that leave no rows over, a part to fit to and a part to score."""
    middle = [each for each in l4() if each.question.concurrency == 10]
    yield "L4: fitted at 1 and 100 only, scored at 10", [each for each in l4() if each not in middle], middle
    bf16, awq = a100()
    yield "A100: fitted to BF16 only, scored on AWQ", [bf16], [awq]
    yield "A100: fitted to AWQ only, scored on BF16", [awq], [bf16]


def fit(rows: Sequence[Observation]) -> Calibration:
    """Fit what belongs to the GPU to what its steps decide."""
    default = default_constants()
    around = {name: 0.0 for name in default.cells if name.startswith(OF_THE_HOST)}
    return calibrate([replace(each, measured=_only(each, _FITTED)) for each in rows], default.known(around, "held"))


def _only(observation: Observation, names: Sequence[str]) -> dict[str, float]:
    return {name: value for name, value in observation.measured.items() if name in names}


def made(source: Source) -> Shipped:
    """Fit a calibration and describe it."""
    found = fit(source.rows)
    told = dict(source.provenance) | {
        "engine": "vllm",
        "residual_before": round(found.spread(after=False), 4),
        "residual_after": round(found.spread(after=True), 4),
    }
    return Shipped(source.name, msgspec.convert(told, Provenance), _fitted(found))


def _fitted(found: Calibration) -> dict[str, Constant]:
    return {name: found.constants.cells[name] for name in found.factors}


def errors(observations: Sequence[Observation], constants: Constants, names: Sequence[str]) -> list[float]:
    """Return how far off each number of one kind is."""
    found = []
    for each in observations:
        measured = _only(each, names)
        said = predicted(each, constants) if measured else {}
        found += [abs(said[name] / value - 1) for name, value in measured.items()]
    return found


def row(title: str, observations: Sequence[Observation], constants: Constants, fitted: str) -> None:
    print(f"| {title} | {fitted} | {len(observations)}", end="")
    for names in QUANTITIES.values():
        pair = [errors(observations, each, names) for each in (default_constants(), constants)]
        print("".join(f" | {np.median(each):.1%}" if each else " | " for each in pair), end="")
    print(" |", flush=True)


def table() -> None:
    print("| rows | fitted to | cells | " + " | ".join(f"{name} before | after" for name in QUANTITIES) + " |")
    print("|---|---|---" + "|---|---" * len(QUANTITIES) + "|")
    for source in sources():
        constants = _constants(source)
        row(
            f"`{source.name}`{'' if source.ships else ' (not shipped)'}: its own rows",
            source.rows,
            constants,
            "**yes**",
        )
        for title, rows in source.others.items():
            row(title, rows, constants, "no")
    for title, rows, scored in left_out():
        row(title, scored, fit(rows).constants, "no")


def _constants(source: Source) -> Constants:
    """Return the constants as shipped, or as they would be."""
    shipped = {each.name: each for each in shipped_calibrations().values()}
    return shipped[source.name].among(default_constants()) if source.ships else fit(source.rows).constants


def write() -> None:
    for source in (each for each in sources() if each.ships):
        data = msgspec.json.format(msgspec.json.encode(made(source)), indent=2)
        (_FOLDER / f"{source.name}.json").write_bytes(data + b"\n")


def accuracies() -> Iterator[Accuracy]:
    """Yield what the package says of its own errors, each a row of the table: cells not fitted to where there are."""
    for source in sources():
        title = f"`{source.name}`{'' if source.ships else ' (not shipped)'}: its own rows"
        rows = source.rows
        if source.others:
            title, rows = next(iter(source.others.items()))
        yield _accuracy(source, title, rows, None)
        if source.ships:
            yield _accuracy(source, title, rows, source.name)


def _accuracy(source: Source, title: str, rows: Sequence[Observation], calibration: str | None) -> Accuracy:
    constants = default_constants() if calibration is None else _constants(source)
    tpot, ttft = (
        round(float(np.median(errors(rows, constants, QUANTITIES[quantity]))), 4) for quantity in ("TPOT", "TTFT")
    )
    at_most = max(each.question.concurrency or 0 for each in rows)
    fitted = calibration is not None and rows is source.rows
    return Accuracy(str(source.provenance["gpu"]), calibration, title, fitted, at_most, tpot, ttft)


def write_errors() -> None:
    data = msgspec.json.format(msgspec.json.encode(tuple(accuracies())), indent=2)
    (_FOLDER.parent / "accuracy.json").write_bytes(data + b"\n")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    elif "--write-errors" in sys.argv:
        write_errors()
    else:
        table()
