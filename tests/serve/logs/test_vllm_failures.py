"""Why vLLM failed is told apart from what only followed."""

import pytest

from whichbits.serve.logs.read import recognise
from whichbits.serve.logs.vllm.failures import failure

HEAD = "ERROR 05-06 07:08:09 [core.py:1] "
FOLLOWED = (
    f"{HEAD}EngineCore failed to start.\nRuntimeError: Engine core initialization failed. See root cause above.\n"
)


def codes(text: str) -> list[str]:
    inspection = recognise("server.txt", text)
    assert inspection is not None
    return [error.code for error in inspection.errors]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (
            "ValueError: Free memory on device (3/4 GiB) on startup is less than desired GPU memory utilization (0.9)",
            "free_memory_below_requested",
        ),
        (
            "ValueError: To serve at least one request with the model's max seq len (9000), 3.0 GiB KV cache is needed",
            "kv_cache_too_small_for_max_model_len",
        ),
        (
            "The model's max seq len (9000) is larger than the maximum number of tokens that can be stored in KV cache",
            "kv_cache_too_small_for_max_model_len",
        ),
        ("ValueError: No available memory for the cache blocks.", "no_memory_for_kv_cache"),
        (
            "ValueError: max_num_seqs (64) exceeds available Mamba cache blocks (9).",
            "max_num_seqs_exceeds_mamba_blocks",
        ),
        (
            "ValueError: ('Quantization scheme is not supported for ', 'the current GPU. Min capability: 89. ')",
            "quantization_not_supported_on_gpu",
        ),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3 GiB.", "cuda_out_of_memory"),
        ("NotImplementedError: FlashAttention does not support head size 20.", "attention_feature_unsupported"),
        ("OSError: something never seen", "worker_error_unknown"),
    ],
)
def test_causes_come_before_consequences(said: str, code: str) -> None:
    text = f"{HEAD}Traceback (most recent call last):\n{HEAD}{said}\n{FOLLOWED}"

    assert codes(text) == [code, "engine_core_failed_to_start", "engine_core_init_failed"]
    assert failure(text) == said


def test_a_wrapper_alone_is_no_cause() -> None:
    assert codes(FOLLOWED) == ["engine_core_failed_to_start", "engine_core_init_failed"]
    assert failure(FOLLOWED) is None


def test_errors_of_a_server_that_started_are_not_why_it_failed() -> None:
    text = f"{HEAD}could not import an extra\nINFO:     Application startup complete.\n{HEAD}Exception caught.\n"

    assert codes(text) == []
    assert failure(text) is None


def test_what_the_front_end_did_not_accept_is_no_error_of_a_worker() -> None:
    assert codes(f"(APIServer pid=1) {HEAD}ValueError: no such argument\n") == ["server_error_unknown"]


def test_a_backend_that_is_passed_over_is_no_error() -> None:
    assert codes("INFO 05-06 07:08:09 [cuda.py:1] FlashInfer attention does not support this; using another.\n") == []


def test_a_module_that_is_not_there_is_no_cause() -> None:
    """vLLM 0.25 prints whole tracebacks of optional modules as warnings."""
    optional = "WARNING 11-29 15:01:44 [import_utils.py:408] ImportError: cannot import name '_C'\n"

    assert failure(optional) is None
    assert failure(f"{optional}{HEAD}OSError: no space left\n") == "OSError: no space left"
