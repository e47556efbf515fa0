"""The program that another interpreter runs: llm-compressor's oneshot on one model, told by one JSON object.

    python program.py JOB.json

It imports nothing of whichbits, which that interpreter does not have.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main(job_file: str) -> None:
    """Quantise as the job says, and save where it says."""
    from llmcompressor import oneshot
    from transformers import AutoModelForCausalLM, AutoTokenizer

    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    model = AutoModelForCausalLM.from_pretrained(job["model"], dtype="auto")
    tokenizer = AutoTokenizer.from_pretrained(job["model"])
    oneshot(model=model, recipe=job["recipe"], **_calibration(job, tokenizer))
    model.save_pretrained(job["output"], save_compressed=True)
    tokenizer.save_pretrained(job["output"])


def _calibration(job: dict[str, Any], tokenizer: Any) -> dict[str, Any]:
    """Return the texts to calibrate on, one a line of the file; nothing where rounding needs none."""
    if job["calibration"] is None:
        return {}
    from datasets import Dataset

    lines = Path(job["calibration"]).read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line.strip()][: job["samples"]]
    cut = {"truncation": True, "max_length": job["tokens"], "add_special_tokens": False}
    rows = [{"input_ids": tokenizer(text, **cut)["input_ids"]} for text in texts]
    rows = [row | {"attention_mask": [1] * len(row["input_ids"])} for row in rows if row["input_ids"]]
    return {
        "dataset": Dataset.from_list(rows),
        "max_seq_length": job["tokens"],
        "num_calibration_samples": len(rows),
    }


if __name__ == "__main__":
    main(sys.argv[1])
