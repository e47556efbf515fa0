"""Engines that are driven where they run: their paths, and what they tell of themselves over HTTP and in their logs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.engine import Launch, Place, Prepared
from whichbits.serve.logs.read import recognise
from whichbits.serve.vllm.checkpoint import checkpoint_facts, checkpoint_folder
from whichbits.serve.vllm.proof import wrong_stored_bits
from whichbits.study.arm import Arm

Way = tuple[str | int, ...]
"""Keys and positions that lead to a value in an answer."""


@dataclass(frozen=True)
class RunningEngine:
    """An engine that whichbits never starts. ``questions`` names facts, by the path that tells and the way to them."""

    name: str
    health_path: str
    cache_reset_path: str | None
    questions: Mapping[str, Mapping[str, Way]]
    sleep_option: str | None = None

    def measures_free_memory(self, arm: Arm) -> bool:
        """Return that nobody knows."""
        del arm
        return True

    def check(self, arm: Arm) -> list[str]:
        """Insist on a target; its server may still say what its files do not. Raises BadInput."""
        if arm.target is None:
            raise self._never_started()
        return []

    def prepare(self, arm: Arm) -> Prepared:
        """Insist on a target, and look at the checkpoint where it lies on this machine. Raises BadInput."""
        if arm.target is None:
            raise self._never_started()
        folder = checkpoint_folder(arm, os.environ)
        return Prepared(arm.model, {} if folder is None else checkpoint_facts(folder))

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        """Refuse: raises BadInput."""
        del arm, prepared, place
        raise self._never_started()

    def served_model(self, arm: Arm) -> str:
        """Return the arm's own name for its model; a target is asked instead."""
        return arm.served_model_name or arm.model

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        """Read what the engine's log says, by the reader of whichever engine wrote it."""
        inspection = recognise("", log_text)
        if inspection is None:
            return {}
        return {
            name: Fact(value, "server log", inspection.lines.get(name))
            for name, value in inspection.facts.items()
            if isinstance(value, str | int | float)
        }

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        """Ask every question; what an older version or a gateway does not answer is absent."""
        found: dict[str, Fact] = {}
        for path, facts in self.questions.items():
            answer = await control.json(path)
            for name, way in facts.items():
                value = _follow(answer, way)
                if isinstance(value, str | int | float) and name not in found:
                    found[name] = Fact(value, path)
        return found

    def failure(self, log_text: str) -> str | None:
        """Nobody's death is seen from here."""
        del log_text
        return None

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        """Compare the checkpoint, and what the server says of its weights where it says anything, with the claim."""
        said = facts.get("quantization")
        if said is not None and said.value and arm.weight_format in ("fp16", "bf16", "fp32"):
            return [f"it claims {arm.weight_format}, but the server quantises: {said.value} ({said.source})"]
        stored = wrong_stored_bits(arm, checkpoint, facts)
        return [] if stored is None else [stored]

    def _never_started(self) -> BadInput:
        return BadInput(
            "engine_only_attached",
            f"whichbits does not start {self.name} servers",
            why="it attaches to those that run",
            fix="start one, and give the arm a target: {urls: [http://host:port]}",
        )


def _follow(answer: Any, way: Way) -> Any:
    for step in way:
        try:
            answer = answer[step]
        except (KeyError, IndexError, TypeError):
            return None
    return answer


_MODEL_CARD: Mapping[str, Way] = {
    "max_model_len": ("data", 0, "max_model_len"),
    "owned_by": ("data", 0, "owned_by"),
}


def openai() -> RunningEngine:
    """Any OpenAI-style service: nothing is known of it but what its answers show."""
    return RunningEngine("openai", "/v1/models", None, {"/v1/models": _MODEL_CARD})


def sglang() -> RunningEngine:
    """SGLang: the same answer under an older and a newer path."""
    info: dict[str, Way] = {
        "engine_version": ("version",),
        "model": ("model_path",),
        "dtype": ("dtype",),
        "quantization": ("quantization",),
        "kv_cache_dtype": ("kv_cache_dtype",),
        "attention_backend": ("attention_backend",),
        "tensor_parallel_size": ("tp_size",),
        "data_parallel_size": ("dp_size",),
        "kv_cache_tokens": ("max_total_num_tokens",),
        "max_num_seqs": ("max_running_requests",),
        "max_num_batched_tokens": ("chunked_prefill_size",),
        "max_model_len": ("context_length",),
        "enforce_eager": ("disable_cuda_graph",),
        "load_format": ("load_format",),
        "model_memory_gib": ("internal_states", 0, "memory_usage", "weight"),
    }
    return RunningEngine(
        "sglang",
        "/health",
        "/flush_cache",
        {"/get_server_info": info, "/server_info": info, "/v1/models": _MODEL_CARD},
    )


def llamacpp() -> RunningEngine:
    """Give llama.cpp's server: requests wait for one of its slots, which share its context unless it is unified."""
    return RunningEngine(
        "llamacpp",
        "/health",
        None,
        {
            "/props": {
                "engine_version": ("build_info",),
                "model": ("model_path",),
                "max_num_seqs": ("total_slots",),
                "max_model_len": ("default_generation_settings", "n_ctx"),
            },
            "/v1/models": {
                "owned_by": ("data", 0, "owned_by"),
                "parameters": ("data", 0, "meta", "n_params"),
                "checkpoint_bytes": ("data", 0, "meta", "size"),
            },
        },
    )
