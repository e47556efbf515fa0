"""whichbits' client against those of vllm bench serve, aiohttp and httpx: one paced mock, one machine, one run.

    python benchmarks/clients.py --vllm-python ~/vllm/bin/python

Each client is a process of its own, and so is the mock. First a table at a few loads, then a ladder: how many tokens a
second each client takes until the p99 of its ITL error passes 1 and 5 ms. A client without its interpreter or package
is left out, and said so.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from client_errors import Row, row
from paced import Paced, paced
from peers.orders import Order, Result, Seen

from whichbits.serve.mock.settings import Cadence, MockSettings

ITL_MS = 20.0
TTFT_MS = 200.0
BOUNDS_MS = (1.0, 5.0)
TABLE = (64, 256, 512, 1024)
LADDER = (16, 64, 128, 192, 256, 320, 400, 512, 640, 800, 1024, 1280, 1600, 2048)
_HERE = Path(__file__).parent
_MISSES = 2
_WARM_UP = (8, 10)


class Client:
    """A client's process, which carries out orders."""

    def __init__(self, name: str, process: "subprocess.Popen[str]") -> None:
        self.name = name
        self._process = process

    def measure(self, mock: Paced, streams: int, tokens: int, ramp_s: float) -> Row:
        mock.forget()
        return row(self._ask(Order(mock.url, mock.model, streams, tokens, ramp_s)), mock.truth())

    def warm_up(self, mock: Paced) -> None:
        """Let it import and compile what it does so late."""
        self._ask(Order(mock.url, mock.model, *_WARM_UP, 0.0))

    def _ask(self, order: Order) -> Result:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return Result(**{**told, "seen": [Seen(**each) for each in told["seen"]]})


@contextmanager
def client(name: str, python: str) -> Iterator[Client | None]:
    """Start a client; None if its program does not start, which it has then said itself."""
    program = [python, str(_HERE / "peers" / f"{name}_client.py")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield Client(name, process) if process.stdout.readline() else None
        process.stdin.close()


@dataclass(frozen=True)
class Plan:
    """How long a cell is: ``seconds`` of tokens for every stream, which begin spread over ``ramp_s``."""

    seconds: float
    ramp_s: float
    tries: int

    def measure(self, who: Client, mock: Paced, streams: int) -> Row:
        """Measure a cell, and again if it missed: the better try counts, for every client alike."""
        tokens = round((self.seconds + self.ramp_s) * 1000 / ITL_MS)
        best = who.measure(mock, streams, tokens, self.ramp_s)
        for _ in range(self.tries - 1):
            if best.itl_error_p99 <= BOUNDS_MS[0]:
                break
            best = min(best, who.measure(mock, streams, tokens, self.ramp_s), key=lambda each: each.itl_error_p99)
        return best


def table(clients: Sequence[Client], mock: Paced, plan: Plan, loads: Sequence[int]) -> None:
    print(
        "| streams | tokens/s | client | CPU µs/token | ITL error p50 | p99 | TTFT error p50 | p99 "
        "| median ITL | gaps < 1 ms | failed | mock late p99 | verdict |"
    )
    print("|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for streams in loads:
        for who in clients:
            print(_line(streams, who.name, plan.measure(who, mock, streams)), flush=True)


def _line(streams: int, name: str, seen: Row) -> str:
    return (
        f"| {streams} | {seen.tokens_per_s:,.0f} | {name} | {seen.cpu_us:.1f} | {seen.itl_error_p50:.2f} "
        f"| {seen.itl_error_p99:.2f} | {seen.ttft_error_p50:.1f} | {seen.ttft_error_p99:.1f} | {seen.itl_p50:.1f} "
        f"| {seen.short_share:.1%} | {seen.failed} | {seen.mock_lag_p99:.2f} | {seen.verdict or ''} |"
    )


Rungs = Sequence[tuple[int, Row]]


def climb(who: Client, mock: Paced, plan: Plan, ladder: Sequence[int]) -> Rungs:
    """Climb until the widest bound is missed twice in a row."""
    rungs: list[tuple[int, Row]] = []
    missed = 0
    for streams in ladder:
        rungs.append((streams, plan.measure(who, mock, streams)))
        print(_line(streams, who.name, rungs[-1][1]), flush=True)
        missed = missed + 1 if rungs[-1][1].itl_error_p99 > BOUNDS_MS[-1] else 0
        if missed == _MISSES:
            break
    return rungs


@dataclass(frozen=True)
class Bound:
    """What a client's errors may be at p99."""

    ms: float
    ttft: bool

    def __str__(self) -> str:
        return f"ITL{' and TTFT' if self.ttft else ''} ≤ {self.ms:g} ms"

    def holds(self, seen: Row) -> bool:
        error = max(seen.itl_error_p99, seen.ttft_error_p99) if self.ttft else seen.itl_error_p99
        return error <= self.ms and not seen.failed


_BOUNDS = (Bound(1.0, ttft=False), Bound(5.0, ttft=False), Bound(5.0, ttft=True))


def most(rungs: Rungs, bound: Bound) -> float:
    """Return the tokens a second up to which every rung held a bound; 0 if not the first did."""
    held = list(takewhile(lambda rung: bound.holds(rung[1]), rungs))
    return held[-1][1].tokens_per_s if held else 0.0


def limits(climbed: Mapping[str, Rungs]) -> None:
    """Print the most tokens a second within each bound, and the first client's beside it."""
    first = next(iter(climbed.values()))
    print("\n| p99 of the error, tokens/s | " + " | ".join(f"{bound} | ratio" for bound in _BOUNDS) + " |")
    print("|---|" + "---:|---:|" * len(_BOUNDS))
    for name, rungs in climbed.items():
        found = [(most(first, bound), most(rungs, bound)) for bound in _BOUNDS]
        cells = [f"{theirs:,.0f} | {ours / theirs:.1f}" if theirs else "none | " for ours, theirs in found]
        print(f"| {name} | {' | '.join(cells)} |")


def run(cadence: Cadence, clients: Sequence[Client], mock: Paced, given: argparse.Namespace) -> None:
    plan = Plan(given.seconds, given.ramp, given.tries)
    for who in clients:
        who.warm_up(mock)
    print(f"\n### {cadence}\n")
    table(clients, mock, plan, given.streams)
    if given.ladder:
        print("\nThe ladder:\n")
        limits({who.name: climb(who, mock, plan, given.ladder) for who in clients})


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--clients", nargs="+", default=["whichbits", "vllm", "aiohttp", "httpx"])
    flags.add_argument("--vllm-python", default=sys.executable, help="an interpreter that has vLLM")
    flags.add_argument("--cadences", nargs="+", default=["spread", "steps"])
    flags.add_argument("--streams", nargs="*", type=int, default=TABLE, help="loads of the table")
    flags.add_argument("--ladder", nargs="*", type=int, default=LADDER, help="loads to climb; none: no ladder")
    flags.add_argument("--seconds", type=float, default=3.0, help="how long all streams run together")
    flags.add_argument("--ramp", type=float, default=1.0, help="seconds in which they begin")
    flags.add_argument("--tries", type=int, default=2, help="of a cell that missed the narrower bound")
    given = flags.parse_args()
    with ExitStack() as stack:
        pythons = {"vllm": given.vllm_python}
        started = [stack.enter_context(client(name, pythons.get(name, sys.executable))) for name in given.clients]
        for cadence in given.cadences:
            with paced(MockSettings(itl_ms=ITL_MS, ttft_ms=TTFT_MS, cadence=cadence)) as mock:
                run(cadence, [each for each in started if each is not None], mock, given)


if __name__ == "__main__":
    main()
