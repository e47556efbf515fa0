"""How long ``whichbits report`` takes on runs of mock timings, how large its page is, and how soon a browser has it.

    python -m benchmarks.report_speed [--shape 1M] [--lang en] [--times 3] [--browser] [--every]

Each report is made by a new process, as a user's is. The best of some is what a quiet machine gives; processor time and
the ratio to an empty ``whichbits --help`` say more where it is not. With ``--browser``, Chromium opens the page through
Playwright: until its first content is painted, and until every chart has been laid out and painted.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.large_run import SHAPES

_MEGABYTE = 1e6
_PAINTED = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done({
  first: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
  painted: performance.now(),
  charts: [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0).length}))))"""


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    wall_s: float
    processor_s: float
    peak_mb: float


def cost(*arguments: str) -> Cost:
    """Run whichbits in a new process."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "whichbits", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - begun
    assert process.returncode == 0, f"{' '.join(arguments)} failed"
    return Cost(took, used.ru_utime + used.ru_stime, _peak_bytes(used) / _MEGABYTE)


def _peak_bytes(used: resource.struct_rusage) -> int:
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def opened(page: Path) -> tuple[float, float, int]:
    """Return the seconds to the first content and to all charts, and how many charts there are."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu", *sandbox])
        shown = browser.new_page(viewport={"width": 1280, "height": 900})
        shown.goto(page.as_uri())
        shown.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        told = shown.evaluate(_PAINTED)
        browser.close()
    return told["first"] / 1e3, told["painted"] / 1e3, told["charts"]


def written(shape: str, parent: str) -> Path:
    """Write a run by another process: a large one here would count as memory of the processes that we start."""
    command = [sys.executable, "-m", "benchmarks.large_run", shape, parent]
    return Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def size_of(folder: Path) -> str:
    """Return how large a run is, in words."""
    cells = json.loads((folder / "summary.json").read_bytes())["cells"]
    requests, tokens = (sum(cell[name] for cell in cells) for name in ("requests", "output_tokens"))
    return f"{len(cells)} cells, {requests:,} requests, {tokens:,} tokens"


def compared(shapes: Sequence[str], times: int) -> None:
    """Print a row a shape: what its report takes as multiples of the first one's, and how large its files are."""
    first: Cost | None = None
    print("| run | processor | memory | `report.html` | `report.md` |\n|---|---|---|---|---|")
    for shape in shapes:
        with tempfile.TemporaryDirectory() as parent:
            folder = written(shape, parent)
            taken = [cost("report", str(folder)) for _ in range(times)]
            best = Cost(*(min(getattr(each, name) for each in taken) for name in ("wall_s", "processor_s", "peak_mb")))
            first = first or best
            sizes = [(folder / name).stat().st_size / _MEGABYTE for name in ("report.html", "report.md")]
            ratios = best.processor_s / first.processor_s, best.peak_mb / first.peak_mb
            print(
                f"| {shape} | x {ratios[0]:.1f} | x {ratios[1]:.1f} | {sizes[0]:.2f} MB | {sizes[1]:.2f} MB |",
                flush=True,
            )


def main() -> None:
    """Print the size of the run, then what its report takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="1M")
    parser.add_argument("--lang", choices=("en", "ko"), default="en")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--every", action="store_true", help="every shape, as multiples of the first")
    asked = parser.parse_args()
    if asked.every:
        compared([shape for shape in SHAPES if shape != "10M"], asked.times)
        return
    with tempfile.TemporaryDirectory() as parent:
        folder = written(asked.shape, parent)
        taken = [cost("report", str(folder), "--lang", asked.lang) for _ in range(asked.times)]
        print(size_of(folder))
        processor_s = min(each.processor_s for each in taken)
        print(f"wall        {min(each.wall_s for each in taken):6.2f} s, best of {asked.times}")
        ratio = processor_s / min(cost("--help").processor_s for _ in range(asked.times))
        print(f"processor   {processor_s:6.2f} s, {ratio:.0f} times `whichbits --help`")
        print(f"memory      {max(each.peak_mb for each in taken):6.0f} MB at its peak")
        for name in ("report.html", "report.md", "summary.json"):
            print(f"{name:<12}{(folder / name).stat().st_size / _MEGABYTE:6.2f} MB")
        if asked.browser:
            first_s, painted_s, charts = opened(folder / "report.html")
            print(f"browser     {first_s:6.2f} s to the first content, {painted_s:.2f} s to all of {charts} charts")


if __name__ == "__main__":
    main()
