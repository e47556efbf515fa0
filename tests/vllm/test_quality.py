"""Quality on a real vLLM: distances of models whose distributions are known, itself again, and a broken one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import rel_entr

from tests.e2e.tool import AS_INSTALLED, tool
from tests.vllm.bigram_qwen2 import FIRST, LAST, Bigram, text_of, write_bigram
from tests.vllm.studies import arm, write_study

pytestmark = pytest.mark.vllm

_TEXTS, _TOKENS = 8, 60
_PATIENCE_S = 1800.0
"""Four servers start, one after the other."""


def written_by(model: Bigram) -> list[list[int]]:
    """Return texts that the model itself would write, were there printable characters only."""
    random = np.random.default_rng(4)
    texts = []
    for _ in range(_TEXTS):
        tokens = [int(random.integers(FIRST, LAST))]
        while len(tokens) < _TOKENS:
            logprobs = model.logprobs(tokens[-1:])[0, FIRST:LAST]
            tokens.append(FIRST + int(np.argmax(logprobs + random.gumbel(size=LAST - FIRST))))
        texts.append(tokens)
    return texts


def test_distances_on_vllm_are_those_of_the_models(tmp_path: Path, vllm_python: Path) -> None:
    models = {
        "bf16": write_bigram(tmp_path / "bf16"),
        "noisy": write_bigram(tmp_path / "noisy", noise=0.6),
        "shuffled": write_bigram(tmp_path / "shuffled", shuffled=True),
    }
    models = {"bf16": models["bf16"], "again": models["bf16"], **models}
    texts = written_by(models["bf16"])
    (tmp_path / "texts").mkdir()
    lines = (f"%% {at}\n{text_of(tokens)}" for at, tokens in enumerate(texts))
    (tmp_path / "texts" / "own.txt").write_text("\n".join(lines), encoding="utf-8")
    arms = {name: arm(vllm_python, model.folder, load_format="auto") for name, model in models.items()}
    asked = {"texts": str(tmp_path / "texts"), "answer_tokens": 24, "reference": "bf16"}
    with tool(
        tmp_path, "quality", write_study(tmp_path, arms, quality=asked), "--json", program=AS_INSTALLED
    ) as running:
        assert running.wait(_PATIENCE_S) == 0, running.stderr
        found: dict[str, Any] = json.loads(running.stdout)["quality"]

    by_name = {each["arm"]: each for each in found["arms"]}
    assert {name: (each["verdict"], each["way"]) for name, each in by_name.items()} == {
        "bf16": ("reference", "prompt_logprobs"),
        "again": ("same", "prompt_logprobs"),
        "noisy": ("differs", "prompt_logprobs"),
        "shuffled": ("broken", "prompt_logprobs"),
    }
    assert found["noise"]["distance"]["kl"]["value"] < 1e-6
    assert found["noise"]["distance"]["agreement"]["value"] == 1.0
    for name in ("noisy", "shuffled"):
        _check(by_name[name]["overall"], models["bf16"], models[name], texts)


def _check(told: dict[str, Any], reference: Bigram, model: Bigram, texts: list[list[int]]) -> None:
    """Hold what was told against exact arithmetic; bfloat16 activations leave some percent."""
    before = [token for tokens in texts for token in tokens[:-1]]
    after = [token for tokens in texts for token in tokens[1:]]
    p, q = reference.logprobs(before), model.logprobs(before)
    kl = rel_entr(np.exp(p), np.exp(q)).sum(axis=1).mean()

    assert told["tokens"] == len(after)
    assert 0.3 * kl < told["kl"]["value"] < 1.05 * kl
    assert told["perplexity"] == pytest.approx(np.exp(-q[range(len(after)), after].mean()), rel=0.05)
    assert told["reference_perplexity"] == pytest.approx(np.exp(-p[range(len(after)), after].mean()), rel=0.05)
    assert told["agreement"]["value"] == pytest.approx((p.argmax(axis=1) == q.argmax(axis=1)).mean(), abs=0.03)
