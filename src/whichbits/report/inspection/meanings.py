"""What each code of an inspection means to the person who asks, in one or two short sentences."""

from collections.abc import Mapping

from whichbits.drive.answer.failure import MEANINGS as OF_REQUESTS

_OF_STARTS = {
    "free_memory_below_requested": "Something else holds memory of this GPU. Stop it, or lower "
    "--gpu-memory-utilization.",
    "kv_cache_too_small_for_max_model_len": "One request of full length does not fit. Lower --max-model-len, or leave "
    "more memory to the KV cache.",
    "no_memory_for_kv_cache": "Weights and activations leave nothing for the KV cache. Use fewer bits, more GPUs, or "
    "a smaller batch budget.",
    "max_num_seqs_exceeds_mamba_blocks": "There are fewer state blocks than sequences. Lower --max-num-seqs.",
    "quantization_not_supported_on_gpu": "This GPU is too old for the format: the arm cannot run here.",
    "cuda_out_of_memory": "An allocation failed. If the weights had loaded, lower the utilisation or the batch budget.",
    "attention_feature_unsupported": "No attention backend can do what the model or the KV format needs.",
    "worker_error_unknown": "The server failed before it was ready; the log does not say why in known words.",
    "server_error_unknown": "The front end failed before it was ready, not the engine.",
    "engine_failed_to_start": "The engine did not start; the line says why.",
    "engine_core_failed_to_start": "This follows from another error, which is named beside it or stands earlier.",
    "engine_core_init_failed": "This follows from another error, which is named beside it or stands earlier.",
    "two_engines_in_one_log": "Two engines wrote this text. Their facts are kept apart; give each its own file.",
}

_OF_FILES = {
    "processor_operations_only": "There was no GPU to trace: operations stand for kernels, each with its own time.",
    "trace_without_times": "Nothing that computes is timed in this trace: the profiler was on while nothing ran.",
    "unknown_content": "The file holds nothing that whichbits knows.",
    "unreadable_file": "The file cannot be read.",
    "file_cut_off": "The file ends in the middle: copy it again.",
    "no_usable_rows": "No row of the data set can become a request.",
    "metrics_declared_but_no_samples": "The server has counted nothing yet, or keeps no statistics: this is not 0.",
    "no_engine_metrics": "No engine's series are here: statistics are off, or this is a proxy's endpoint.",
    "roles_not_by_position": "A reader that takes the first two turns sends something else than the question.",
    "timestamps_not_sorted": "Requests do not stand in the order of their times: sort them before a replay.",
}

_OF_BENCHMARKS = {
    "most_requests_failed": "Most requests failed. The figures describe the few that survived: read the first error "
    "before any of them.",
    "requests_left_out_of_statistics": "The tool leaves requests that failed out of its figures.",
    "prefill_bound": "Most of a request is its prefill, which 4-bit weights do not speed up. Judge prefill and decode "
    "apart, and lower the rate if TTFT is queueing.",
    "unlimited_rate_ttft_is_queueing": "Requests queue from the first moment: TTFT is mostly waiting. Cap the "
    "concurrency, or give a rate that the server can hold.",
    "one_token_outputs_no_decode": "There is no decode step in this load: it measures prefill only.",
    "outputs_too_short_for_tpot": "So few tokens make TPOT a matter of single stalls. Median ITL is closer to a decode "
    "step; longer outputs are better.",
    "median_itl_near_zero_bursty_stream": "Tokens arrive in bundles, so gaps inside a bundle are near 0. Read TPOT, "
    "not ITL percentiles.",
    "chat_timing_depends_on_tool_version": "Which chunk counts as a chat's first token changed between vLLM 0.25, 0.32 "
    "and 0.33: compare within one version.",
    "aborted_share_high": "Clients gave up on many requests: latencies cover the others only.",
}

_OF_SPEED = {
    "enforce_eager": "No CUDA graphs and no compilation: decode at low load is much slower than it could be.",
    "quantization_not_fully_optimized": "The format unpacks its weights at each step: throughput hardly grows with the "
    "load. AWQ or GPTQ with a Marlin kernel is faster.",
    "fp8_weight_only_marlin_fallback": "The GPU cannot multiply in FP8: weights are smaller, arithmetic is 16 bit. "
    "Expect gains at low load only.",
    "fp8_kv_cache_changed_attention_backend": "The KV format changed the attention kernel: two things differ from the "
    "16-bit arm.",
    "untuned_fp8_block_kernel": "No tuned settings of the FP8 kernel for this GPU: it is slower than it could be.",
    "untuned_int8_block_kernel": "No tuned settings of the INT8 kernel for this GPU: it is slower than it could be.",
    "untuned_moe_kernel": "No tuned settings of the expert kernel for this GPU: it is slower than it could be.",
    "marlin_bf16_before_sm90_prefer_fp16": "Marlin is faster in float16 on this GPU: use --dtype half.",
    "deepgemm_disabled_platform": "DeepGEMM does not run here: another, slower FP8 kernel does.",
    "kv_scale_default_1.0": "The FP8 KV cache has no scales of its own: a matter of accuracy, not of speed.",
    "hybrid_model": "Some layers keep a state instead of KV pages: tokens x bytes formulas do not hold. Trust the "
    "engine's concurrency figure.",
    "faster_kernel_refused_by_argument": "An argument forces the slower of two kernels: drop --quantization, and vLLM "
    "takes the faster one.",
    "layer_without_fast_kernel": "Some layers do not fit the fast kernel and run a slow one.",
    "emulated_kernel": "The format is emulated: weights are unpacked at each step.",
    "marlin_padding": "Weights are padded to fit the kernel's tiles: somewhat slower.",
    "gptq_gemm_kernel_is_buggy": "This GPTQ kernel gives wrong answers in some cases: take another one.",
    "kv_cache_full_requests_wait": "The KV cache is full and requests queue: TTFT is queueing. Lower the load, or make "
    "the pool larger.",
    "requests_preempted": "The KV cache ran out: work was thrown away and done again. Lower the load, or make the pool "
    "larger.",
    "slow_all_reduce": "These GPUs have no fast link: with tensor parallelism much of a step may be all-reduce, which "
    "fewer bits do not shorten.",
    "compiled_during_inference": "A kernel was compiled while a request waited: warm up before measuring.",
    "max_num_seqs_below_max_concurrency": "The scheduler's cap binds first: more KV room admits no more requests.",
    "kv_size_inconsistent_with_concurrency": "The printed size is wrong for this kind of model. Trust the concurrency "
    "figure; the tokens that it implies are given.",
}

MEANINGS: Mapping[str, str] = {**dict(OF_REQUESTS.items()), **_OF_STARTS, **_OF_FILES, **_OF_BENCHMARKS, **_OF_SPEED}
"""By code. Every code that a reader of files gives is here."""
