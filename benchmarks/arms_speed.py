"""How fast ``whichbits arms`` works, and in how much memory: a made-up checkpoint, each format in a process of its own.

    python benchmarks/arms_speed.py [--gigabytes 2] [--workers 2] [--folder DIR]

MB/s are megabytes of the source from start to the proven arm. On a machine that does other work, too, the processor's
seconds tell more: ``alone`` is what as many cores as workers would reach with nothing else to do and a disk that does
not make them wait.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from whichbits.arms.codes.rounding import as_bfloat16
from whichbits.arms.files.shards import Shards, Wanted
from whichbits.arms.files.source import fingerprints, open_source
from whichbits.arms.make import make_arm, plan_arm
from whichbits.arms.recipe import Wishes, recipes_of

HIDDEN, WIDTH, WORDS = 4096, 14336, 32000
ARMS = {
    "w8a8-int8": ("w8a8-int8", Wishes()),
    "w8a8-fp8": ("w8a8-fp8", Wishes()),
    "w4a16": ("w4a16", Wishes()),
    "w4a16-asymmetric": ("w4a16", Wishes(symmetric=False)),
    "w4a16-gptq": ("w4a16", Wishes(scheme="gptq")),
    "w4a16-awq": ("w4a16", Wishes(scheme="awq")),
}
_PIECE = 2**22


def write_source(folder: Path, gigabytes: float) -> None:
    """Write layers of an 8B model, as many as fill the size, with normally distributed weights."""
    matrices = {
        **dict.fromkeys(("self_attn.q_proj", "self_attn.o_proj"), (HIDDEN, HIDDEN)),
        **dict.fromkeys(("self_attn.k_proj", "self_attn.v_proj"), (HIDDEN // 4, HIDDEN)),
        **dict.fromkeys(("mlp.gate_proj", "mlp.up_proj"), (WIDTH, HIDDEN)),
        "mlp.down_proj": (HIDDEN, WIDTH),
    }
    a_layer = 2 * sum(rows * columns for rows, columns in matrices.values())
    layers = max(round((gigabytes * 1e9 - 4 * WORDS * HIDDEN) / a_layer), 1)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": WIDTH,
        "num_hidden_layers": layers,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": WORDS,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    wanted = [Wanted(f"{name}.weight", "BF16", (WORDS, HIDDEN)) for name in ("model.embed_tokens", "lm_head")]
    wanted += [
        Wanted(f"model.layers.{layer}.{name}.weight", "BF16", shape)
        for layer in range(layers)
        for name, shape in matrices.items()
    ]
    random = as_bfloat16(np.random.default_rng(0).normal(0, 0.02, _PIECE).astype(np.float32)).view(np.uint8)
    with Shards(folder, wanted, 10**9) as shards:
        for each in wanted:
            for at in range(0, each.stored_bytes, len(random)):
                shards.write(each.name, at, random[: each.stored_bytes - at])


def measure(name: str, folder: Path, output: Path, workers: int) -> dict[str, Any]:
    """Make one arm in this process."""
    imports_mib = peak_mib()
    begun = time.perf_counter(), time.process_time()
    source = open_source(folder)
    (recipe,) = recipes_of([ARMS[name][0]], ARMS[name][1])
    arm = make_arm(source, plan_arm(source, recipe), output / name, fingerprints(source.files, workers), workers)
    wall_s, processor_s = time.perf_counter() - begun[0], time.process_time() - begun[1]
    megabytes = source.checkpoint.total_bytes / 1e6
    return {
        "arm": name,
        "source_mb": megabytes,
        "mb_per_s": megabytes / wall_s,
        "alone_mb_per_s": megabytes / (processor_s / workers),
        "peak_mib": peak_mib(),
        "imports_mib": imports_mib,
        "relative_error": arm.typical_error,
        "worst": None if arm.worst is None else arm.worst.relative / (arm.worst.expected or 1),
    }


def peak_mib() -> float:
    """Return this program's peak memory; getrusage would count what its parent had before it was started."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    """Print one line an arm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("ARM", "SOURCE", "OUTPUT"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one[0], Path(asked.one[1]), Path(asked.one[2]), asked.workers)))
        return
    print(f"{'arm':<18} {'MB/s':>6} {'alone':>6} {'peak MiB':>9} {'error':>7} {'worst layer / expected':>23}")
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        write_source(Path(folder) / "source", asked.gigabytes)
        for name in ARMS:
            command = [sys.executable, __file__, "--one", name, f"{folder}/source", f"{folder}/{name}"]
            command += ["--workers", str(asked.workers)]
            told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(
                f"{name:<18} {told['mb_per_s']:6.0f} {told['alone_mb_per_s']:6.0f} {told['peak_mib']:9.0f} "
                f"{told['relative_error']:7.2%} {told['worst']:23.2f}"
            )


if __name__ == "__main__":
    main()
