"""Facts of vLLM's logs in the words of its versions, with ranks and engines apart and nothing guessed."""

from typing import Any

import pytest

from whichbits.record.inspection import Inspection
from whichbits.serve.logs.read import recognise

HEAD = "INFO 05-06 07:08:09 [somewhere.py:1] "
OLD_HEAD = "INFO 05-06 07:08:09 somewhere.py:1] "


def read(*lines: str, head: str = HEAD) -> Inspection:
    """Inspect lines, each behind its process names (up to the last parenthesis) and a logger's head."""
    text = ""
    for line in lines:
        names, separator, said = line.rpartition(") ") if line.startswith("(") else ("", "", line)
        text += f"{names}{separator}{head}{said}\n"
    inspection = recognise("server.txt", text)
    assert inspection is not None
    assert (inspection.kind, inspection.engine) == ("startup_log", "vllm")
    return inspection


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("Loading model weights took 3.1415 GB", {"model_memory_gib": 3.1415}),
        ("Model loading took 3.5 GiB and 9.876543 seconds", {"model_memory_gib": 3.5, "model_load_seconds": 9.876543}),
        ("Model loading took 3.5 GiB memory and 9.8 seconds", {"model_memory_gib": 3.5, "model_load_seconds": 9.8}),
        ("Time spent downloading weights for org/m: 12.5 seconds", {"download_seconds": 12.5}),
        ("XPU KV cache size: 512 tokens", {"kv_cache_tokens": 512}),
        ("GPU + host KV cache size: 9,512 tokens", {"kv_cache_tokens": 9512}),
        ("# rocm blocks: 77, # CPU blocks: 9", {"gpu_blocks": 77, "cpu_blocks": 9}),
        ("torch.compile takes 7.25 s in total", {"compile_seconds": 7.25}),
        (
            "torch.compile and initial profiling/warmup run together took 8.5 s in total",
            {"compile_and_warmup_seconds": 8.5},
        ),
        (
            "init engine (profile, create kv_cache) took 21.50 s (compilation: 6.50 s \u2014 encoder: 1 s)",
            {"init_engine_seconds": 21.5, "compile_seconds": 6.5},
        ),
        (
            "Graph capturing finished in 11 secs, took 0.37 GiB",
            {"cuda_graph_seconds": 11, "cuda_graph_gib": 0.37},
        ),
        (
            "Profiling CUDA graph memory: PIECEWISE=3 (largest=8), FULL=2 (largest=4)",
            {"cudagraph_counts": {"PIECEWISE": 3, "FULL": 2}},
        ),
        (
            "the current vLLM instance can use total_gpu_memory (40.00GiB) x gpu_memory_utilization (0.80) = 32.00GiB",
            {"total_gpu_memory_gib": 40.0, "gpu_memory_utilization": 0.8, "requested_memory_gib": 32.0},
        ),
        ("Using default W8A8 Block FP8 kernel config, device_name=NVIDIA_L4,dtype=fp8.json",
         {"device_name": "NVIDIA_L4", "hints": ["untuned_fp8_block_kernel"]}),
        (" █▄█▀ █     █     █     █  model   org/m", {"model": "org/m"}),
        ("█▄█▀ █ █ █ █ model org/m", {"model": "org/m"}),
        ("Auto-fit max_model_len: reduced from 9000 to 5000 to fit", {"max_model_len": 5000}),
        ("Using DeepGemm kernels for Fp8MoEMethod.", {"moe_backend": "DeepGemm", "moe_quant": "Fp8"}),
        ("Using 'MARLIN' Mxfp4 MoE backend.", {"moe_backend": "MARLIN", "moe_quant": "Mxfp4"}),
        ("Overriding num_gpu_blocks=0 with num_gpu_blocks_override=512", {}),
        ("Loading safetensors took 3 tries", {}),
    ],
)  # fmt: skip
def test_wordings(said: str, facts: dict[str, Any]) -> None:
    assert read(said).facts == facts


@pytest.mark.parametrize(
    ("said", "backend"),
    [
        ("Using XFormers backend.", "XFORMERS"),
        ("Using Flash Attention backend.", "FLASH_ATTN"),
        ("Using Triton MLA backend on V1 engine.", "TRITON_MLA"),
        ("Using TRITON_ATTN attention backend out of potential backends: ('TRITON_ATTN',)", "TRITON_ATTN"),
        ("Using AttentionBackendEnum.FLASHINFER backend.", "FLASHINFER"),
        ("Using ROCM_AITER_FA backend (selected via --attention-backend).", "ROCM_AITER_FA"),
        ("Cannot use FlashAttention-2 backend for Volta and Turing GPUs.", None),
        ("Using FlashInfer for top-p & top-k sampling.", None),
        ("Using HND KV cache layout for FLASHINFER backend.", None),
        ("Using TRITON Mamba SSU backend.", None),
        ("Using Transformers modeling backend.", None),
        ("Using backend TORCH_SDPA for vit attention", None),
        ("Using ['PYNCCL'] all-reduce backends out of potential backends: ['PYNCCL', 'FLASHINFER']", None),
    ],
)
def test_only_the_choice_of_the_attention_kernel_is_one(said: str, backend: str | None) -> None:
    assert read(said).facts.get("attention_backend") == backend


def test_the_configuration_is_surer_than_the_arguments() -> None:
    facts = read(
        "non-default args: {'model': 'org/m', 'dtype': 'half', 'quantization': 'awq', 'max_num_seqs': 32, 'seed': 1}",
        "Initializing a V1 LLM engine (v0.15.1) with config: model='org/m', dtype=torch.float16, max_seq_len=2048, "
        "quantization=awq_marlin, speculative_config=SpeculativeConfig(method='ngram', model='other', "
        "num_spec_tokens=4), enforce_eager=True, enable_prefix_caching=None, kv_cache_dtype=fp8, "
        'compilation_config={"cudagraph_capture_sizes": [4, 2, 1]}, ',
    )

    assert facts.engine_version == "0.15.1"
    assert facts.facts == {
        "model": "org/m", "dtype": "float16", "quantization": "awq_marlin", "quantization_arg": "awq",
        "max_num_seqs": 32, "max_model_len": 2048, "kv_cache_dtype": "fp8", "enforce_eager": True,
        "enable_prefix_caching": None, "speculative_method": "ngram", "num_speculative_tokens": 4,
        "cudagraph_capture_sizes": [4, 2, 1],
        "hints": ["enforce_eager"],
    }  # fmt: skip


def test_the_kernel_that_runs_is_reported_not_the_method() -> None:
    facts = read("Using MacheteLinearKernel for AutoGPTQLinearMethod", "Using flashinfer-cutlass for NVFP4 GEMM").facts

    assert facts["quant_kernels"] == ["MacheteLinearKernel", "flashinfer-cutlass"]
    assert facts["quant_kernel_for"]["AutoGPTQLinearMethod"] == "MacheteLinearKernel"


def test_ranks_that_agree_have_one_figure_and_a_total() -> None:
    facts = read(
        "(Worker_TP0 pid=1) Model loading took 5.25 GiB and 7.5 seconds",
        "(Worker_TP1 pid=2) Model loading took 5.25 GiB and 8.5 seconds",
    ).facts

    assert facts["model_memory_gib_per_gpu"] == 5.25
    assert facts["model_memory_gib_total"] == 10.5
    assert "model_load_seconds" not in facts
    assert facts["model_load_seconds_max"] == 8.5
    assert facts["ranks"]["TP1"] == {"model_memory_gib": 5.25, "model_load_seconds": 8.5}


def test_weights_are_not_added_up_while_a_rank_is_silent() -> None:
    facts = read(
        "(Worker_TP0 pid=1) Model loading took 5.25 GiB and 7.5 seconds",
        "(Worker_TP3 pid=2) Using Flash Attention backend on V1 engine.",
    ).facts

    assert facts["tensor_parallel_size_seen"] == 4
    assert "model_memory_gib_total" not in facts


def test_one_line_that_comes_by_two_ways_is_one_worker() -> None:
    said = "Available KV cache memory: 6.5 GiB"
    facts = read(
        f"(RayWorkerProc pid=9, ip=10.0.0.1) (Worker pid=9) {said}", f"(EngineCore pid=3) (Worker pid=9) {said}"
    ).facts

    assert facts["kv_cache_memory_gib"] == 6.5
    assert facts["worker_pids"] == [9]


def test_an_engine_uses_its_smallest_pool() -> None:
    pools = read("GPU KV cache size: 9,000 tokens", "GPU KV cache size: 8,000 tokens")

    assert pools.facts == {"kv_cache_tokens": 8000}


def test_engines_add_up_once_all_have_said_their_pool() -> None:
    first = "(EngineCore_DP0 pid=1) GPU KV cache size: 9,000 tokens"
    second = "(EngineCore_DP1 pid=2) GPU KV cache size: 7,000 tokens"
    third = "(EngineCore_DP2 pid=3) init engine (profile) took 3.5 s"

    assert read(first, second).facts["kv_cache_tokens"] == 16000
    assert read(first, second).facts["kv_cache_tokens_per_engine"] == 7000
    partly = read(first, second, third).facts
    assert (partly["engines_seen"], partly["engines_with_kv_line"]) == ([0, 1, 2], [0, 1])
    assert "kv_cache_tokens" not in partly


def test_a_size_that_contradicts_the_concurrency_is_not_the_size() -> None:
    hybrid = read("GPU KV cache size: 10,000 tokens", "Maximum concurrency for 1,000 tokens per request: 40.00x")

    assert "kv_cache_tokens" not in hybrid.facts
    assert hybrid.facts["kv_cache_tokens_logged"] == 10000
    assert hybrid.facts["kv_cache_tokens_effective"] == 40000
    assert [warning.code for warning in hybrid.warnings] == ["kv_size_inconsistent_with_concurrency"]


def test_blocks_become_tokens_only_with_a_block_size_that_the_log_tells() -> None:
    blocks = "# GPU blocks: 1000, # CPU blocks: 0"
    concurrency = "Maximum concurrency for 2000 tokens per request: 16.00x"

    assert "kv_cache_tokens_derived" not in read(blocks, head=OLD_HEAD).facts
    assert read(blocks, concurrency, head=OLD_HEAD).facts["kv_cache_tokens_derived"] == 32000


def test_the_last_of_several_starts_counts() -> None:
    facts = read(
        "vLLM API server version 0.8.5", "GPU KV cache size: 5,000 tokens",
        "vLLM API server version 0.9.2", "GPU KV cache size: 6,000 tokens",
    )  # fmt: skip

    assert (facts.engine_version, facts.facts["kv_cache_tokens"]) == ("0.9.2", 6000)


def test_the_line_of_all_memory_is_no_error_and_adds_what_was_not_said() -> None:
    summary = read(
        "Available KV cache memory: 9.00 GiB",
        "Free memory on device (23.00/24.00 GiB) on startup. Desired GPU memory utilization is (0.9, 21.60 GiB). "
        "Actual usage is 8.10 GiB for weight, 1.20 GiB for peak activation, 0.30 GiB for non-torch memory, and "
        "0.50 GiB for CUDAGraph memory. Current kv cache memory in use is 9.10 GiB.",
    )  # fmt: skip

    assert summary.errors == ()
    assert summary.facts == {
        "kv_cache_memory_gib": 9.0, "free_memory_gib": 23.0, "total_memory_gib": 24.0, "gpu_memory_utilization": 0.9,
        "requested_memory_gib": 21.6, "weights_memory_gib": 8.1, "activation_peak_gib": 1.2,
        "non_torch_memory_gib": 0.3, "cuda_graph_gib": 0.5,
    }  # fmt: skip


def test_hints_and_warnings_say_why_an_arm_is_slow() -> None:
    found = read(
        "Your GPU does not have native support for FP8 computation but FP8 quantization is being used.",
        "You are running Marlin kernel with bf16 on GPUs before SM90.",
        "Using default MoE config. Performance might be sub-optimal!",
    )

    assert found.facts["hints"] == ["fp8_weight_only_marlin_fallback", "marlin_bf16_before_sm90_prefer_fp16"]
    assert [warning.code for warning in found.warnings] == ["untuned_moe_kernel"]


RATES = "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 9.5 tokens/s, "


@pytest.mark.parametrize(
    ("said", "warning"),
    [
        (
            f"{RATES}Running: 22 reqs, Swapped: 0 reqs, Pending: 78 reqs, GPU KV cache usage: 99.1%, CPU KV: 0.0%",
            "kv_cache_full_requests_wait",
        ),
        (f"Engine 000: {RATES}Running: 22 reqs, Waiting: 78 reqs, GPU KV cache usage: 20.5%", None),
        (f"Engine 000: {RATES}Running: 22 reqs, Waiting: 0 reqs, GPU KV cache usage: 99.5%", None),
        ("Sequence group 4 is preempted by PreemptionMode.RECOMPUTE mode because there is not", "requests_preempted"),
        ("Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs.", "slow_all_reduce"),
    ],
)
def test_a_server_under_load_says_what_it_lacks(said: str, warning: str | None) -> None:
    assert [found.code for found in read(said).warnings] == ([warning] if warning else [])


def test_the_words_of_a_prompt_are_not_the_engines() -> None:
    quoted = read(
        "GPU KV cache size: 5,000 tokens",
        "Received request cmpl-1: prompt: 'CUDA out of memory. Using XFormers backend.', params: SamplingParams(n=1)",
    )

    assert quoted.facts == {"kv_cache_tokens": 5000}
    assert quoted.errors == ()


def test_of_several_times_of_one_worker_the_longest_is_the_models() -> None:
    facts = read(
        "Loading weights took 24.50 seconds", "Loading weights took 1.25 seconds", "torch.compile took 9.5 s in total",
        "torch.compile took 0.5 s in total",
    ).facts  # fmt: skip

    assert facts == {"weights_load_seconds": 24.5, "compile_seconds": 9.5}
