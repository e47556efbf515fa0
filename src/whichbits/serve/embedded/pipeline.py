"""OpenVINO GenAI's pipeline in the engine's words: build it, measure its blocks, translate."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai as genai

from whichbits.serve.embedded.messages import EngineSettings, FinishReason, Sampling
from whichbits.serve.embedded.threads import computing_threads

_PROBE_TOKENS = 64  # a multiple of every block size in use (16 on GPUs, 32 on CPUs)


@dataclass(frozen=True)
class Blocks:
    """The KV cache as the built pipeline divides it."""

    count: int
    tokens_each: int

    @property
    def tokens(self) -> int:
        return self.count * self.tokens_each


def build_pipeline(folder: Path, tokenizer: genai.Tokenizer, settings: EngineSettings) -> Any:
    """Load and compile the model in ``folder``; seconds."""
    scheduler = genai.SchedulerConfig()
    scheduler.cache_size = settings.kv_cache_gib
    scheduler.max_num_seqs = settings.max_num_seqs
    scheduler.max_num_batched_tokens = settings.max_num_batched_tokens
    scheduler.dynamic_split_fuse = True
    scheduler.enable_prefix_caching = settings.enable_prefix_caching
    return genai.ContinuousBatchingPipeline(folder, tokenizer, scheduler, "CPU", **compile_properties(settings))


def compile_properties(settings: EngineSettings) -> dict[str, str]:
    """Return the properties that the model is compiled with.

    The KV precision is set for every arm: a 16-bit GGUF file would otherwise ask for another one than its
    quantised twins, and the arms would differ in more than their weights.
    """
    properties = {
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": str(settings.dynamic_quantization_group_size),
        "KV_CACHE_PRECISION": settings.kv_cache_dtype,
    }
    if settings.dynamic_quantization_group_size or computing_threads(settings.threads) == 1:
        # CPUs with bfloat16 compute in it by default. OpenVINO quantises only 32-bit activations, though, and one
        # thread in bfloat16 divides by zero: its fused feed-forward layer wants pairs of threads (AMX, 2026.4).
        properties["INFERENCE_PRECISION_HINT"] = "f32"
    if settings.threads is not None:
        properties["INFERENCE_NUM_THREADS"] = str(settings.threads)
    return properties


def measure_blocks(pipeline: Any) -> Blocks:
    """Run two short prompts and count blocks from the usage that the pipeline reports; also its first inference."""
    one_block = _usage_after(pipeline, 1)
    several_blocks = _usage_after(pipeline, _PROBE_TOKENS)
    return Blocks(count=round(1 / one_block), tokens_each=_PROBE_TOKENS // round(several_blocks / one_block))


def _usage_after(pipeline: Any, tokens: int) -> float:
    prompt = openvino.Tensor(np.arange(1, tokens + 1, dtype=np.int64)[None])
    config = genai.GenerationConfig(max_new_tokens=1, ignore_eos=True)
    handle = pipeline.add_request(0, prompt, config)  # a request whose handle is gone counts as cancelled
    while not handle.can_read():
        pipeline.step()
    return float(pipeline.get_metrics().cache_usage) / 100


def generation_config(sampling: Sampling, end: int | None) -> Any:
    """Translate sampling into OpenVINO's words; temperature 0 is greedy."""
    config = genai.GenerationConfig()
    config.max_new_tokens = sampling.max_tokens
    config.min_new_tokens = sampling.min_tokens
    config.repetition_penalty = sampling.repetition_penalty
    config.presence_penalty = sampling.presence_penalty
    config.frequency_penalty = sampling.frequency_penalty
    if sampling.temperature > 0:
        config.do_sample = True
        config.temperature = sampling.temperature
        config.top_p = sampling.top_p
        if sampling.top_k > 0:
            config.top_k = sampling.top_k
        # Without a seed every server would draw the same answers again after each start.
        config.rng_seed = sampling.seed if sampling.seed is not None else time.monotonic_ns() % 2**31
    if sampling.logprobs:
        config.logprobs = 1
    config.echo = sampling.echo
    ends = {end} - {None} if not sampling.ignore_eos else set()
    stops = ends | set(sampling.stop_token_ids)
    config.stop_token_ids = stops
    config.ignore_eos = not stops  # OpenVINO would ignore every stop token, not only the model's own
    return config


def finish_reason(reason: Any) -> FinishReason | None:
    """Translate OpenVINO's finish reason."""
    if reason == genai.GenerationFinishReason.STOP:
        return "stop"
    if reason == genai.GenerationFinishReason.LENGTH:
        return "length"
    return None


def echoed_logprobs(logprobs: Sequence[float], tokens: int, prompt: int) -> list[float | None] | None:
    """Return one log-probability a prompt token out of those of the first ``tokens`` read; None if none is echoed.

    OpenVINO GenAI gives those of the tokens that it computed, the last of them the newest. A prompt's first token has
    no log-probability; what the prefix cache holds is not computed again.
    """
    if not prompt:
        return None
    known = list(logprobs[: len(logprobs) - (tokens - prompt)])
    missing = prompt - len(known)
    return [None] * missing + known if missing else [None, *known[1:]]
