"""A short start of vLLM in the words of each of its ages, 0.6 to 0.33: what each says, worked out by hand."""

from typing import Any

import pytest

from whichbits.record.inspection import Inspection
from whichbits.serve.logs.read import recognise

AGES: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "V0 0.6 alone": (
        """\
INFO 11-02 10:00:00 api_server.py:495] vLLM API server version 0.6.3
INFO 11-02 10:00:00 api_server.py:496] args: Namespace(subparser='serve', model_tag='org/m-awq', quantization=None, \
enable_prefix_caching=False, max_num_seqs=96, gpu_memory_utilization=0.85, block_size=16, enforce_eager=False, \
dispatch_function=<function serve at 0x7f0>)
INFO 11-02 10:00:03 awq_marlin.py:90] The model is convertible to awq_marlin during runtime. Using awq_marlin kernel.
INFO 11-02 10:00:04 llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config: model='org/m-awq', \
speculative_config=None, dtype=torch.float16, max_seq_len=4096, load_format=LoadFormat.AUTO, tensor_parallel_size=1, \
quantization=awq_marlin, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda, seed=0, \
served_model_name=org/m-awq, enable_prefix_caching=False, chunked_prefill_enabled=False, use_cached_outputs=True, )
INFO 11-02 10:00:20 model_runner.py:1067] Loading model weights took 5.2500 GB
INFO 11-02 10:00:22 gpu_executor.py:122] # GPU blocks: 2000, # CPU blocks: 512
INFO 11-02 10:00:22 gpu_executor.py:126] Maximum concurrency for 4096 tokens per request: 7.81x
INFO 11-02 10:00:40 model_runner.py:1523] Graph capturing finished in 18 secs, took 0.31 GiB
INFO:     Application startup complete.
""",
        "0.6.3",
        {
            "model": "org/m-awq", "quantization": "awq_marlin", "quantization_arg": None, "max_num_seqs": 96,
            "gpu_memory_utilization": 0.85, "block_size": 16, "block_size_arg": 16, "dtype": "float16",
            "max_model_len": 4096, "load_format": "auto", "enable_prefix_caching": False,
            "enable_chunked_prefill": False, "device": "cuda", "model_memory_gib": 5.25, "gpu_blocks": 2000,
            "cpu_blocks": 512, "kv_cache_tokens_derived": 32000, "max_concurrency": 7.81,
            "max_concurrency_tokens": 4096, "cuda_graph_seconds": 18, "cuda_graph_gib": 0.31, "ready": True,
        },
    ),
    "V0 0.8 over two GPUs, memory in three lines": (
        """\
INFO 04-12 08:21:00 [llm_engine.py:241] Initializing a V0 LLM engine (v0.8.5) with config: model='org/m', \
dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, quantization=gptq_marlin, enforce_eager=True, \
kv_cache_dtype=fp8, enable_prefix_caching=None, chunked_prefill_enabled=False, use_cached_outputs=True,
(VllmWorkerProcess pid=21) INFO 04-12 08:21:19 [worker.py:267] Memory profiling takes 17.50 seconds
(VllmWorkerProcess pid=21) INFO 04-12 08:21:19 [worker.py:267] the current vLLM instance can use total_gpu_memory \
(24.00GiB) x gpu_memory_utilization (0.90) = 21.60GiB
(VllmWorkerProcess pid=21) INFO 04-12 08:21:19 [worker.py:267] model weights take 9.50GiB; non_torch_memory takes \
0.25GiB; PyTorch activation peak memory takes 1.50GiB; the rest of the memory reserved for KV Cache is 10.35GiB.
INFO 04-12 08:21:19 [worker.py:267] Memory profiling takes 17.75 seconds
INFO 04-12 08:21:19 [worker.py:267] the current vLLM instance can use total_gpu_memory (24.00GiB) x \
gpu_memory_utilization (0.90) = 21.60GiB
INFO 04-12 08:21:19 [worker.py:267] model weights take 9.50GiB; non_torch_memory takes 0.25GiB; PyTorch activation \
peak memory takes 1.60GiB; the rest of the memory reserved for KV Cache is 10.25GiB.
INFO 04-12 08:21:20 [executor_base.py:112] # cuda blocks: 10496, # CPU blocks: 4096
INFO 04-12 08:21:20 [executor_base.py:117] Maximum concurrency for 8192 tokens per request: 20.50x
""",
        "0.8.5",
        {
            "quantization": "gptq_marlin", "enforce_eager": True, "kv_cache_dtype": "fp8",
            "enable_prefix_caching": None, "tensor_parallel_size": 2, "memory_profiling_seconds_max": 17.75,
            "total_gpu_memory_gib": 24.0, "requested_memory_gib": 21.6, "weights_memory_gib": 9.5,
            "kv_cache_memory_gib_min": 10.25, "kv_cache_memory_gib_max": 10.35, "kv_cache_memory_gib_per_gpu": 10.25,
            "gpu_blocks": 10496, "cpu_blocks": 4096, "max_concurrency": 20.5, "kv_cache_tokens_derived": 167936,
            "hints": ["enforce_eager"],
        },
    ),
    "V1 0.8 over two GPUs, each with a pool": (
        """\
\x1b[1;36m(VllmWorker rank=1 pid=12)\x1b[0;0m INFO 05-06 07:08:09 [loader.py:458] Loading weights took 2.75 seconds
\x1b[1;36m(VllmWorker rank=0 pid=11)\x1b[0;0m INFO 05-06 07:08:09 [loader.py:458] Loading weights took 2.50 seconds
\x1b[1;36m(VllmWorker rank=0 pid=11)\x1b[0;0m INFO 05-06 07:08:10 [gpu_model_runner.py:1347] Model loading took \
9.3750 GiB and 3.125000 seconds
\x1b[1;36m(VllmWorker rank=1 pid=12)\x1b[0;0m INFO 05-06 07:08:10 [gpu_model_runner.py:1347] Model loading took \
9.3750 GiB and 3.250000 seconds
\x1b[1;36m(VllmWorker rank=0 pid=11)\x1b[0;0m INFO 05-06 07:08:10 [cuda.py:221] Using Flash Attention backend on V1 \
engine.
INFO 05-06 07:08:20 [kv_cache_utils.py:634] GPU KV cache size: 90,112 tokens
INFO 05-06 07:08:20 [kv_cache_utils.py:637] Maximum concurrency for 8,192 tokens per request: 11.00x
INFO 05-06 07:08:20 [kv_cache_utils.py:634] GPU KV cache size: 90,000 tokens
INFO 05-06 07:08:20 [kv_cache_utils.py:637] Maximum concurrency for 8,192 tokens per request: 10.99x
""",
        None,
        {
            "ranks_seen": [0, 1], "weights_load_seconds_max": 2.75, "model_memory_gib": 9.375,
            "model_memory_gib_per_gpu": 9.375, "model_load_seconds_max": 3.25, "attention_backend": "FLASH_ATTN",
            "kv_cache_tokens": 90000, "max_concurrency": 10.99, "max_concurrency_tokens": 8192,
        },
    ),
    "0.15 in a grid of ranks": (
        """\
(APIServer pid=1) INFO 02-03 04:05:06 [api_server.py:1] vLLM API server version 0.15.1
(Worker pid=7) INFO 02-03 04:05:06 [parallel_state.py:1] world_size=4 rank=0 local_rank=0 distributed_init_method=tcp
(Worker_DP0_PP0_PCP0_TP0_DCP0_EP0 pid=7) INFO 02-03 04:05:07 [gpu_model_runner.py:3] Model loading took 12.66 GiB \
memory and 31.500000 seconds
(Worker_DP1_PP0_PCP0_TP1_DCP0_EP3 pid=8) INFO 02-03 04:05:07 [gpu_model_runner.py:3] Model loading took 12.5 GiB \
memory and 30.500000 seconds
(EngineCore_DP0 pid=5) INFO 02-03 04:05:09 [kv_cache_utils.py:1307] GPU KV cache size: 262,144 tokens
(EngineCore_DP0 pid=5) INFO 02-03 04:05:09 [kv_cache_utils.py:1312] Maximum concurrency for 32,768 tokens per \
request: 8.00x
(EngineCore_DP1 pid=6) INFO 02-03 04:05:09 [kv_cache_utils.py:1307] GPU KV cache size: 260,096 tokens
(EngineCore_DP1 pid=6) INFO 02-03 04:05:09 [kv_cache_utils.py:1312] Maximum concurrency for 32,768 tokens per \
request: 7.94x
""",
        "0.15.1",
        {
            "same_pid_names": ["Worker", "Worker_DP0_PP0_PCP0_TP0_DCP0_EP0"], "dp_ranks_seen": [0, 1],
            "tp_ranks_seen": [0, 1], "ep": True, "data_parallel_size_seen": 2, "engines_seen": [0, 1],
            "engines_with_kv_line": [0, 1], "kv_cache_tokens": 522240, "kv_cache_tokens_per_engine": 260096,
            "max_concurrency_per_engine": 7.94, "max_concurrency_tokens": 32768, "model_memory_gib_min": 12.5,
            "model_memory_gib_max": 12.66, "model_memory_gib_per_gpu": 12.66,
        },
    ),
    "0.24 with graphs taken from the pool": (
        """\
(EngineCore pid=107) INFO 07-06 22:50:46 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: \
model='org/m', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, data_parallel_size=1, \
quantization=modelopt, quantization_config=None, enforce_eager=False, kv_cache_dtype=fp8, \
device_config=cuda, enable_prefix_caching=True, enable_chunked_prefill=True, compilation_config={'mode': \
<CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, \
'cudagraph_capture_sizes': [1, 2, 4], 'pass_config': {'fuse': False}}
(EngineCore pid=107) INFO 07-06 22:50:50 [nvfp4.py:1] Using FlashInferCutlassNvFp4LinearKernel for NVFP4 GEMM
(EngineCore pid=107) INFO 07-06 22:50:50 [cuda.py:366] Using FLASHINFER attention backend out of potential backends: \
['FLASHINFER', 'TRITON_ATTN'].
(EngineCore pid=107) INFO 07-06 22:50:50 [fp4.py:1] Using 'FLASHINFER_CUTLASS' NvFp4 MoE backend out of potential \
backends: ['FLASHINFER_TRTLLM', 'FLASHINFER_CUTLASS', 'MARLIN'].
(EngineCore pid=107) INFO 07-06 22:50:51 [weight_utils.py:904] Filesystem type for checkpoints: EXT4. Checkpoint \
size: 21.50 GiB. Available RAM: 100.00 GiB.
(EngineCore pid=107) INFO 07-06 22:51:20 [default_loader.py:397] Loading weights took 24.50 seconds
(EngineCore pid=107) INFO 07-06 22:51:22 [default_loader.py:397] Loading weights took 1.25 seconds
(EngineCore pid=107) INFO 07-06 22:51:23 [gpu_model_runner.py:4960] Model loading took 22.5 GiB memory and 31.250000 \
seconds
(EngineCore pid=107) INFO 07-06 22:51:40 [monitor.py:53] torch.compile took 14.50 s in total
(EngineCore pid=107) INFO 07-06 22:51:41 [monitor.py:81] Initial profiling/warmup run took 4.25 s
(EngineCore pid=107) INFO 07-06 22:51:42 [monitor.py:53] torch.compile took 0.50 s in total
(EngineCore pid=107) INFO 07-06 22:51:43 [kv_cache_utils.py:829] Overriding num_gpu_blocks=0 with \
num_gpu_blocks_override=512
(EngineCore pid=107) INFO 07-06 22:51:43 [gpu_model_runner.py:6681] Profiling CUDA graph memory: PIECEWISE=16 \
(largest=16), FULL=11 (largest=16)
(EngineCore pid=107) INFO 07-06 22:51:44 [gpu_model_runner.py:6806] Estimated CUDA graph memory: 0.36 GiB total
(EngineCore pid=107) INFO 07-06 22:52:09 [gpu_worker.py:508] Available KV cache memory: 6.00 GiB
(EngineCore pid=107) INFO 07-06 22:52:09 [kv_cache_utils.py:2146] GPU KV cache size: 567,541 tokens
(EngineCore pid=107) INFO 07-06 22:52:09 [kv_cache_utils.py:2147] Maximum concurrency for 131,072 tokens per request: \
4.33x
(EngineCore pid=107) INFO 07-06 22:52:20 [gpu_model_runner.py:7000] Graph capturing finished in 9 secs, took 0.34 GiB
(EngineCore pid=107) INFO 07-06 22:52:21 [core.py:299] init engine (profile, create kv cache, warmup model) took \
58.50 s (compilation: 15.00 s)
(APIServer pid=1) INFO 07-06 22:52:22 [launcher.py:1] Starting vLLM server on http://0.0.0.0:8000
(APIServer pid=1) INFO:     Application startup complete.
""",
        "0.24.0",
        {
            "dtype": "bfloat16", "quantization": "modelopt", "enforce_eager": False, "kv_cache_dtype": "fp8",
            "enable_prefix_caching": True, "enable_chunked_prefill": True, "cudagraph_capture_sizes": [1, 2, 4],
            "quant_kernels": ["FlashInferCutlassNvFp4LinearKernel"], "attention_backend": "FLASHINFER",
            "moe_backend": "FLASHINFER_CUTLASS", "moe_quant": "NvFp4", "checkpoint_size_gib": 21.5,
            "weights_load_seconds": 24.5, "model_memory_gib": 22.5, "model_load_seconds": 31.25,
            "compile_seconds": 14.5, "warmup_seconds": 4.25, "cudagraph_counts": {"PIECEWISE": 16, "FULL": 11},
            "cuda_graph_estimated_gib": 0.36, "kv_cache_memory_gib": 6.0, "kv_cache_tokens": 567541,
            "max_concurrency": 4.33, "cuda_graph_gib": 0.34, "init_engine_seconds": 58.5, "ready": True,
        },
    ),
    "0.33 as JSON": (
        """\
{"asctime": "09-16 10:00:00", "levelname": "INFO", "name": "vllm.entrypoints", "processName": "MainProcess", \
"process": 1, "message": "non-default args: {'model_tag': 'org/m', 'model': 'org/m', 'max_num_seqs': 64, \
'api_key': ['***'], 'dtype': torch.float16}"}
{"asctime": "09-16 10:00:09", "levelname": "INFO", "name": "vllm.model_executor", "processName": "EngineCore", \
"process": 9, "message": "Selected CutlassFP8ScaledMMLinearKernel for CompressedTensorsW8A8Fp8"}
/usr/lib/python3.12/site-packages/torch/x.py:1: UserWarning: something else
{"asctime": "09-16 10:00:20", "levelname": "INFO", "name": "vllm.v1.core", "processName": "EngineCore", \
"process": 9, "message": "GPU KV cache size: 268,560 tokens, Maximum concurrency for 2,048 tokens per request: 131.13x"}
{"asctime": "09-16 10:00:21", "levelname": "INFO", "name": "vllm.v1.worker", "processName": "EngineCore", \
"process": 9, "message": "Free memory on device (46.99/47.37 GiB) on startup. Desired GPU memory utilization is \
(0.85, 40.27 GiB). Actual usage is 2.81 GiB for consumed memory (weights + non-torch), 0.57 GiB for peak activation, \
and 0.22 GiB for CUDAGraph memory."}
""",
        None,
        {
            "model": "org/m", "max_num_seqs": 64, "dtype": "float16",
            "quant_kernel_for": {"CompressedTensorsW8A8Fp8": "CutlassFP8ScaledMMLinearKernel"},
            "kv_cache_tokens": 268560, "max_concurrency": 131.13, "max_concurrency_tokens": 2048,
            "free_memory_gib": 46.99, "total_memory_gib": 47.37, "gpu_memory_utilization": 0.85,
            "requested_memory_gib": 40.27, "consumed_memory_gib": 2.81, "activation_peak_gib": 0.57,
            "cuda_graph_gib": 0.22,
        },
    ),
    "0.32 on processors": (
        """\
(APIServer pid=1) INFO 10-01 10:00:00 [model.py:568] Resolved architecture: Qwen2ForCausalLM
(EngineCore pid=2) INFO 10-01 10:00:01 [cpu.py:100] Using CPU_ATTN backend.
(EngineCore pid=2) INFO 10-01 10:00:02 [cpu_worker.py:1] Explicitly set (1.0/9.09) GiB for KV cache on node 0.
(EngineCore pid=2) INFO 10-01 10:00:03 [kv_cache_utils.py:9] CPU KV cache size: 174,592 tokens, Maximum concurrency \
for 4,096 tokens per request: 42.62x
""",
        None,
        {
            "architecture": "Qwen2ForCausalLM", "attention_backend": "CPU_ATTN", "device": "cpu",
            "kv_cache_memory_gib": 1.0, "kv_cache_tokens": 174592, "max_concurrency": 42.62,
        },
    ),
    "over Ray, lines folded": (
        """\
\x1b[36m(EngineCore_DP0 pid=3)\x1b[0m \x1b[36m(RayWorkerWrapper pid=901, ip=10.0.0.2)\x1b[0m INFO 02-03 04:05:07 \
[gpu_worker.py:276] Available KV cache memory: 30.50 GiB
\x1b[36m(RayWorkerWrapper pid=901, ip=10.0.0.2)\x1b[0m INFO 02-03 04:05:07 [gpu_worker.py:276] Available KV cache \
memory: 30.50 GiB \x1b[32m [repeated 7x across cluster]\x1b[0m
(EngineCore_DP0 pid=3) INFO 02-03 04:05:09 [kv_cache_utils.py:864] GPU KV cache size: 640,000 tokens
(EngineCore_DP0 pid=3) INFO 02-03 04:05:09 [kv_cache_utils.py:868] Maximum concurrency for 64,000 tokens per request: \
10.00x
""",
        None,
        {"kv_cache_memory_gib": 30.5, "worker_pids": [901], "kv_cache_tokens": 640000, "max_concurrency": 10.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("age", AGES)
def test_each_age_says_the_same_things(age: str) -> None:
    text, version, expected = AGES[age]

    inspection = read(text)

    assert inspection.engine_version == version
    assert {name: inspection.facts.get(name) for name in expected} == expected
    assert inspection.errors == ()


AROUND = {
    "kubectl": "2026-01-02T03:04:05.678901Z stdout F {}",
    "kubectl --prefix": "[pod/vllm-0/vllm] {}",
    "docker compose": "vllm-1  | {}",
    "journald": "Jan 02 03:04:05 node7 python3[4711]: {}",
    "journald iso": "2026-01-02T03:04:05+0000 node7 vllm[4711]: {}",
    "quoted in an answer": "> > {}",
    "a collector nobody knows": "2026/01/02 03:04:05 [vllm-0.web] {}",
    "srun -l": "3: {}",
    "k9s": "│ {}",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_whatever_stands_in_front_of_every_line(age: str, around: str, ends: str) -> None:
    text, version, _ = AGES[age]

    wrapped = ends.join(AROUND[around].format(line) for line in text.splitlines()) + ends

    assert read(wrapped).facts == read(text).facts
    assert read(wrapped).engine_version == version


def test_a_log_in_a_code_fence() -> None:
    text, _, expected = AGES["V1 0.8 over two GPUs, each with a pool"]

    facts = read(f"Here is my log:\n\n```shell\n$ vllm serve org/m\n{text}```\n\nWhat is wrong?\n").facts

    assert {name: facts.get(name) for name in expected} == expected


def test_models_of_a_chain_are_told_apart() -> None:
    chain = read(
        "INFO 06-01 07:46:12 [model.py:568] Resolved architecture: SomeOmniModel\n"
        "(EngineCore_DP0 pid=11) [Stage-0] INFO 02-02 18:25:03 [kv_cache_utils.py:1] GPU KV cache size: 9,000 tokens\n"
        "(EngineCore_DP0 pid=12) [Stage-1] INFO 02-02 18:25:03 [kv_cache_utils.py:1] GPU KV cache size: 700 tokens\n"
        "(Worker pid=13) [Stage-1] INFO 02-02 18:25:03 [x.py:1] Model loading took 8.5 GiB memory and 2.5 seconds\n"
    )

    assert chain.facts["architecture"] == "SomeOmniModel"
    assert chain.facts["stages"]["0"]["kv_cache_tokens"] == 9000
    assert chain.facts["stages"]["1"]["kv_cache_tokens"] == 700
    assert chain.facts["stages"]["1"]["model_memory_gib"] == 8.5
    assert "kv_cache_tokens" not in chain.facts


def read(text: str) -> Inspection:
    inspection = recognise("server.txt", text)
    assert inspection is not None
    assert (inspection.kind, inspection.engine) == ("startup_log", "vllm")
    return inspection
