"""How fast ``whichbits inspect`` reads: MB/s for 5 MB of each kind, and the seconds of the whole command."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from whichbits.cli.inspected import inspected

MEGABYTE = 1_000_000

_START = """\
(EngineCore pid=9) INFO 07-06 22:50:46 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: \
model='org/m', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, quantization=None, enforce_eager=False
(EngineCore pid=9) INFO 07-06 22:52:09 [kv_cache_utils.py:2146] GPU KV cache size: 567,541 tokens
"""
_STATISTICS = (
    "(APIServer pid=1) INFO 07-06 22:53:{:02d} [loggers.py:259] Engine 000: Avg prompt throughput: {:.1f} tokens/s, "
    "Avg generation throughput: 512.5 tokens/s, Running: 32 reqs, Waiting: 0 reqs, GPU KV cache usage: 20.1%, "
    "Prefix cache hit rate: 3.2%\n"
    '(APIServer pid=1) INFO:     127.0.0.1:{} - "POST /v1/completions HTTP/1.1" 200 OK\n'
)


def log(size: int) -> str:
    """Return a log whose start is followed by hours of statistics and requests."""
    return _START + _repeated(lambda turn: _STATISTICS.format(turn % 60, turn * 0.1, turn % 60000), size)


def metrics(size: int) -> str:
    """Return a scrape with many label sets."""
    head = "# HELP vllm:generation_tokens_total Number of tokens.\n# TYPE vllm:generation_tokens_total counter\n"
    line = 'vllm:generation_tokens_total{{engine="{}",model_name="org/m"}} {}.0\n'
    return head + _repeated(lambda turn: line.format(turn, turn), size)


def bench(size: int) -> str:
    """Return a detailed benchmark result."""
    requests = size // 60
    lists = {"ttfts": [0.0123456789] * requests, "itls": [[0.01, 0.02, 0.03]] * requests}
    totals = {"duration": 9.5, "completed": requests, "total_input_tokens": 9, "request_throughput": 1.5}
    return json.dumps(totals | lists)


def stream(size: int) -> str:
    """Return a captured stream of chat chunks."""
    chunk = 'data: {{"id":"c","choices":[{{"index":0,"delta":{{"content":"word {}"}},"finish_reason":null}}]}}\n\n'
    last = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    return _repeated(chunk.format, size) + last


def prompts(size: int) -> str:
    """Return a ShareGPT data set."""
    turns = [{"from": "human", "value": "why " * 50}, {"from": "gpt", "value": "so " * 50}]
    record = {"id": "a", "conversations": turns}
    return json.dumps([record] * (size // len(json.dumps(record))))


KINDS: dict[str, Callable[[int], str]] = {
    "log": log,
    "metrics": metrics,
    "bench_json": bench,
    "sse": stream,
    "dataset": prompts,
}


def _repeated(line: Callable[[int], str], size: int) -> str:
    lines, length, turn = [], 0, 0
    while length < size:
        lines.append(line(turn))
        length += len(lines[-1])
        turn += 1
    return "".join(lines)


def measure(make: Callable[[int], str], size: int, folder: Path) -> tuple[float, float]:
    """Return MB/s of the reader alone, and the seconds of the command on a file of the same size."""
    path = folder / "file"
    path.write_text(make(size), encoding="utf-8")
    inspected(path)  # imports
    begun = time.perf_counter()
    inspected(path)
    alone_s = time.perf_counter() - begun
    begun = time.perf_counter()
    command = [sys.executable, "-c", "from whichbits.cli import main; main()", "inspect", "--json", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path.stat().st_size / MEGABYTE / alone_s, time.perf_counter() - begun


def main() -> None:
    """Print one line a kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=5.0)
    size = round(parser.parse_args().megabytes * MEGABYTE)
    print(f"{'kind':<12} {'MB/s':>7} {'command s':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in KINDS.items():
            speed, command_s = measure(make, size, Path(folder))
            print(f"{kind:<12} {speed:7.1f} {command_s:10.2f}")


if __name__ == "__main__":
    main()
