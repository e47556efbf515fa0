"""Logs of the other engines: the same facts in other words."""

import pytest

from whichbits.record.inspection import Inspection
from whichbits.serve.embedded.facts import announce
from whichbits.serve.logs.read import recognise


def read(text: str) -> Inspection:
    inspection = recognise("server.txt", text)
    assert inspection is not None
    return inspection


SGLANG = """\
[2026-02-03 04:05:06] server_args=ServerArgs(model_path='org/m', quantization='fp8', tp_size=2, dtype='auto', \
disable_radix_cache=True, disable_cuda_graph=False, max_total_tokens=50000, chunked_prefill_size=4096, seed=1)
[2026-02-03 04:05:07 TP0] Load weight end. elapsed=4.50 s, type=LlamaForCausalLM, dtype=torch.bfloat16, \
avail mem=70.0 GB, mem usage=7.50 GB.
[2026-02-03 04:05:08 TP1] KV Cache is allocated. #tokens: 49000, K size: 2.50 GB, V size: 2.25 GB
[2026-02-03 04:05:08 TP0] KV Cache is allocated. #tokens: 49000, K size: 2.50 GB, V size: 2.25 GB
[2026-02-03 04:05:09 TP0] max_total_num_tokens=49000, max_prefill_tokens=8192, max_running_requests=77, context_len=6000
[2026-02-03 04:05:10] The server is fired up and ready to roll!
"""


def test_sglang() -> None:
    sglang = read(SGLANG)

    assert sglang.engine == "sglang"
    expected = {
        "model": "org/m", "quantization": "fp8", "tensor_parallel_size": 2, "enable_prefix_caching": False,
        "enforce_eager": False, "enable_chunked_prefill": True, "kv_cache_tokens_configured": 50000,
        "model_load_seconds": 4.5, "architecture": "LlamaForCausalLM", "dtype": "bfloat16",
        "model_memory_gib_per_gpu": 7.5, "kv_cache_tokens": 49000, "kv_cache_memory_gib_per_gpu": 4.75,
        "max_num_seqs": 77, "max_num_batched_prefill_tokens": 8192, "max_model_len": 6000, "tp_ranks_seen": [0, 1],
        "ready": True,
    }  # fmt: skip
    assert sglang.facts.items() >= expected.items()
    assert "TP0" in sglang.lines["model_load_seconds"]


def test_sglang_with_one_size_for_keys_and_values() -> None:
    facts = read("[2026-02-03 04:05:08] KV Cache is allocated. #tokens: 300, KV size: 1.25 GB\n").facts

    assert facts == {"kv_cache_tokens": 300, "kv_cache_memory_gib": 1.25, "kv_bytes_per_token_derived": 4473924}


def test_two_engines_in_one_log_are_not_mixed() -> None:
    both = read(SGLANG + "INFO 02-03 04:05:06 [kv_cache_utils.py:9] GPU KV cache size: 77,312 tokens\n")

    assert both.engine is None
    assert [error.code for error in both.errors] == ["two_engines_in_one_log"]
    assert both.facts["vllm"]["kv_cache_tokens"] == 77312
    assert both.facts["sglang"]["kv_cache_tokens"] == 49000


LLAMACPP = """\
build: 7001 (0a1b2c3d) with cc for Linux
  Device 0: NVIDIA L4, compute capability 8.9, VMM: yes
llama_model_loader: loaded meta data with 9 key-value pairs and 9 tensors from /m/tiny 1.gguf (version GGUF V3 (latest))
print_info: file type   = Q8_0
print_info: file size   = 1.25 GiB (8.50 BPW)
llama_context: n_ctx         = 8192
llama_context: n_ctx_seq     = 2048
llama_context: flash_attn    = auto
llama_kv_cache:      CUDA0 KV buffer size =   112.00 MiB
llama_kv_cache: size =  112.00 MiB (  2048 cells,  28 layers,  4/4 seqs), K (q8_0):   56.00 MiB, V (q8_0):   56.00 MiB
llama_context:      CUDA0 compute buffer size =   298.50 MiB
llama_context:  CUDA_Host compute buffer size =    17.01 MiB
llama_context: Flash Attention was auto, set to enabled
srv    load_model: initializing slots, n_slots = 4
main: server is listening on http://127.0.0.1:8080
"""
TIMINGS = """\
{0} prompt eval time =     {1}.50 ms /    11 tokens (   10.00 ms per token,   100.00 tokens per second)
{0}        eval time =     900.00 ms /    90 {2} (   10.00 ms per token,   100.00 tokens per second)
{0}       total time =    1010.00 ms /   101 tokens
"""


def test_llamacpp() -> None:
    llamacpp = read(LLAMACPP)

    assert (llamacpp.kind, llamacpp.engine, llamacpp.engine_version) == ("startup_log", "llama.cpp", "b7001")
    assert llamacpp.facts == {
        "device_name": "NVIDIA L4", "model": "/m/tiny 1.gguf", "quantization": "Q8_0", "checkpoint_size_gib": 1.25,
        "n_ctx": 8192, "n_ctx_per_slot": 2048, "kv_cache_memory_mib": 112.0, "kv_cache_tokens": 8192,
        "kv_cache_dtype": "q8_0", "compute_buffer_mib": 298.5, "flash_attention": True, "slots": 4, "ready": True,
    }  # fmt: skip


@pytest.mark.parametrize(("seqs", "tokens"), [("1 seqs", 4096), ("4/1 seqs", 4096), ("4/4 seqs", 16384), ("", 4096)])
def test_llamacpp_shares_the_pool_out_to_streams(seqs: str, tokens: int) -> None:
    printed = f"llama_kv_cache: size =  112.00 MiB (  4096 cells,  28 layers,  {seqs}), K (f16):   56.00 MiB\n"

    assert read(printed).facts["kv_cache_tokens"] == tokens


def test_tgi_in_json() -> None:
    tgi = read(
        '{"level":"INFO","fields":{"message":"Args {\\n model_id: \\"org/m\\",\\n}"},'
        '"target":"text_generation_launcher"}\n'
        '{"timestamp":"2024-05-05T00:00:01Z","level":"INFO","fields":{"message":"Shard ready in 7.5s"},"target":"x"}\n'
        '{"timestamp":"2024-05-05T00:00:02Z","level":"INFO","message":"Connected","target":"text_generation_router"}\n'
    )

    assert tgi.engine == "tgi"
    assert tgi.facts == {"model": "org/m", "shard_ready_seconds": 7.5, "ready": True}


@pytest.mark.parametrize("words", [("", "tokens"), ("llama_print_timings:", "runs"), ("[77]", "tokens")])
def test_llamacpp_timings_are_those_of_the_last_request(words: tuple[str, str]) -> None:
    timings = read(TIMINGS.format(words[0], 500, words[1]) + TIMINGS.format(words[0], 109, words[1]))

    assert timings.kind == "request_log"
    assert timings.facts == {
        "prompt_ms": 109.5, "prompt_tokens": 11, "prompt_tps": 100.0,
        "decode_ms": 900.0, "decode_tokens": 90, "decode_tps": 100.0, "total_ms": 1010.0,
    }  # fmt: skip


def test_tgi_with_one_argument_a_line() -> None:
    tgi = read(
        '2026-02-03T04:05:06.1Z  INFO text_generation_launcher: Args {\n    model_id: "org/m",\n    quantize: Some(\n'
        "        Gptq,\n    ),\n    max_concurrent_requests: 64,\n    max_batch_total_tokens: None,\n}\n"
        "2026-02-03T04:05:07.1Z  INFO text_generation_launcher: Using Attention = paged\n"
        "2026-02-03T04:05:08.1Z  INFO shard-manager: text_generation_launcher: Shard ready in 7.5s rank=0\n"
        "2026-02-03T04:05:08.1Z  INFO shard-manager: text_generation_launcher: Shard ready in 6.5s rank=1\n"
        "2026-02-03T04:05:09.1Z  INFO text_generation_router_v3: Setting max batch total tokens to 4321\n"
    )

    assert tgi.engine == "tgi"
    assert tgi.facts == {
        "model": "org/m", "quantization": "gptq", "max_concurrent_requests": 64, "attention_backend": "paged",
        "kv_cache_tokens": 4321, "shard_ready_seconds": 7.5,
    }  # fmt: skip


def test_of_tensorrt_llms_two_pools_the_last_counts() -> None:
    pool = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated {} GiB for max tokens in paged KV cache ({}).\n"
    tensorrt = read(
        "[TensorRT-LLM][INFO] TensorRT-LLM version: 0.21.0\n" + pool.format(1.5, 640) + pool.format(3.5, 960)
    )

    assert (tensorrt.engine, tensorrt.engine_version) == ("tensorrt-llm", "0.21.0")
    assert tensorrt.facts["kv_cache_tokens"] == 960
    assert tensorrt.facts["kv_cache_memory_gib"] == 3.5


def test_the_embedded_engine_reads_what_it_wrote(capsys: pytest.CaptureFixture[str]) -> None:
    announce("loaded", engine_version="1.2", dtype="bf16", kv_cache_tokens=512)

    embedded = read(capsys.readouterr().out)

    assert (embedded.engine, embedded.engine_version) == ("embedded", "1.2")
    assert embedded.facts == {"dtype": "bf16", "kv_cache_tokens": 512}


@pytest.mark.parametrize("text", ["", "a word\n", "time,tokens\n1,2\n", '{"duration": 1.0}', "data: {}\n\n"])
def test_what_no_engine_wrote_is_not_recognised(text: str) -> None:
    assert recognise("vllm.log", text) is None


def test_lmdeploy() -> None:
    lmdeploy = read(
        "2025-09-09 09:54:12,461 - lmdeploy - INFO - async_engine.py:285 - updated backend_config="
        "TurbomindEngineConfig(dtype='auto', model_format='mxfp4', tp=2, session_len=8192, max_batch_size=128, "
        "cache_block_seq_len=64, enable_prefix_caching=True, quant_policy=4)\n"
        "[TM][INFO] [BlockManager] max_block_count = 100\n"
        "INFO:     Application startup complete.\n"
    )

    assert lmdeploy.engine == "lmdeploy"
    assert lmdeploy.facts == {
        "quantization": "mxfp4", "tensor_parallel_size": 2, "max_model_len": 8192, "max_num_seqs": 128,
        "block_size": 64, "enable_prefix_caching": True, "gpu_blocks": 100, "kv_cache_tokens_derived": 6400,
        "ready": True,
    }  # fmt: skip


def test_old_tensorrt_llm_prints_bytes() -> None:
    facts = read(
        "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 39.5 GiB, "
        "available: 21.5 GiB\n"
        "[TensorRT-LLM][INFO] Allocate 2147483648 bytes for k/v cache. \n"
        "[TensorRT-LLM][INFO] Using 8192 tokens in paged KV cache.\n"
    ).facts

    assert facts == {
        "total_memory_gib": 39.5, "free_memory_gib": 21.5, "kv_cache_memory_gib": 2.0, "kv_cache_tokens": 8192,
        "kv_bytes_per_token_derived": 262144,
    }  # fmt: skip


def test_sglang_on_other_devices_and_with_other_clocks() -> None:
    facts = read(
        "[04:05:07 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, mem usage=7.50 GB.\n"
        "[2026-02-03 04:05:08 DisaggregationMode.DECODE TP1] KV Cache is allocated. #tokens: 490, KV size: 2.50 GB\n"
        "[2026-02-03 04:05:09 TP0] Capture npu graph end. Time elapsed: 5.5 s. mem usage=1.25 GB. avail mem=10.05 GB.\n"
        "[2026-02-03 04:05:09 TP0] Using MoE kernel config with down_moe=False. Performance might be sub-optimal!\n"
    )

    assert facts.facts["tp_ranks_seen"] == [0, 1]
    assert facts.facts["model_memory_gib_per_gpu"] == 7.5
    assert facts.facts["kv_cache_tokens"] == 490
    assert facts.facts["cuda_graph_seconds"] == 5.5
    assert [warning.code for warning in facts.warnings] == ["untuned_moe_kernel"]


def test_tgi_after_lines_of_others() -> None:
    tgi = read(
        "a banner of the container\n"
        '2026-02-03T04:05:06.1Z  INFO text_generation_launcher: Args {\n    model_id: "org/m",\n    num_shard: Some(\n'
        "        2,\n    ),\n}\n"
        "2026-02-03T04:05:09.1Z  INFO text_generation_router: router/src/main.rs:247: Connected\n"
    )

    assert tgi.facts == {"model": "org/m", "tensor_parallel_size": 2, "ready": True}
