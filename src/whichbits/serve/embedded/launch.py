"""How a study starts the embedded engine: weights made, log read, claim checked."""

import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from gguf import GGMLQuantizationType

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve.embedded.facts import read_facts, read_failure
from whichbits.serve.embedded.weights.checkpoint import checkpoint_facts
from whichbits.serve.embedded.weights.source import insist_on_model, store_weights
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.engine import Launch, Place, Prepared
from whichbits.study.arm import Arm

OPTIONS: dict[str, type] = {
    "kv_cache_gib": int,
    "kv_cache_dtype": str,
    "max_num_seqs": int,
    "max_num_batched_tokens": int,
    "enable_prefix_caching": bool,
    "threads": int,
}


@dataclass(frozen=True)
class FormatPlan:
    """A weight format in the engine's terms; group size 0 leaves activations as they are."""

    linear: GGMLQuantizationType
    activation_group_size: int

    @property
    def quantises_activations(self) -> bool:
        return self.activation_group_size > 0


FORMATS = {
    "fp16": FormatPlan(GGMLQuantizationType.F16, 0),
    "w8a8-int8": FormatPlan(GGMLQuantizationType.Q8_0, 32),
    "w8a16": FormatPlan(GGMLQuantizationType.Q8_0, 0),
    "w4a16": FormatPlan(GGMLQuantizationType.Q4_0, 0),
    "w4a8-int8": FormatPlan(GGMLQuantizationType.Q4_0, 32),
}
_BITS = {GGMLQuantizationType.F16: 16, GGMLQuantizationType.Q8_0: 8, GGMLQuantizationType.Q4_0: 4}
# Weight types that OpenVINO may hold a GGUF type in once it is loaded.
_LOADED_AS = {
    GGMLQuantizationType.F16: ("f16", "bf16", "f32"),
    GGMLQuantizationType.Q8_0: ("u8", "i8"),
    GGMLQuantizationType.Q4_0: ("u4", "i4"),
}


class EmbeddedEngine:
    """OpenVINO GenAI's continuous batching in a server of ours."""

    name = "embedded"
    health_path = "/health"
    cache_reset_path = "/reset_prefix_cache"
    sleep_option = None

    def measures_free_memory(self, arm: Arm) -> bool:
        """Return that starts are to follow each other: each compiles the model on all cores."""
        del arm
        return True

    def check(self, arm: Arm) -> list[str]:
        """Check format, options and the model's name; weights are made as claimed, so no file contradicts.

        Raises:
            BadInput: one of them is not this engine's.
        """
        _plan(arm)
        _check_options(arm)
        insist_on_model(arm.model)
        return []

    def prepare(self, arm: Arm) -> Prepared:
        """Fetch and rewrite the arm's weights if the cache lacks them; seconds to a minute the first time.

        Raises:
            BadInput: if the format, an option or the model is not one of this engine's.
        """
        plan = _plan(arm)
        _check_options(arm)
        stored = store_weights(arm.model, plan.linear)
        facts = checkpoint_facts(stored.path)
        facts["made_from"] = Fact(stored.source, str(stored.path))
        facts["made_from_type"] = Fact(stored.source_type, str(stored.path))
        facts["made_from_sha256"] = Fact(stored.source_sha256, str(stored.path))
        return Prepared(str(stored.path), facts)

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        """Return the server's command; it needs nothing in its environment."""
        _check_options(arm)
        flags = {
            "--model": prepared.model_path,
            "--host": place.host,
            "--port": str(place.port),
            "--served-model-name": self.served_model(arm),
            "--dynamic-quantization-group-size": str(_plan(arm).activation_group_size),
        }
        words = [word for pair in flags.items() for word in pair]
        words += [word for option, value in _options(arm).items() for word in _flag(option, value)]
        return Launch((arm.python or sys.executable, "-m", "whichbits.serve.embedded", *words), {})

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        """Return what the server said of itself."""
        return read_facts(log_text)

    def served_model(self, arm: Arm) -> str:
        """Return the name that requests use."""
        return arm.served_model_name or (Path(arm.model).stem if arm.model.endswith(".gguf") else arm.model)

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        """Its log tells all that it knows."""
        del control
        return {}

    def failure(self, log_text: str) -> str | None:
        """Return the line of a dead server's log that says why."""
        return read_failure(log_text)

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        """Return the reasons why the arm is not what it claims; none if it is."""
        plan = _plan(arm)
        activations = _wrong_activations(arm, plan, facts)
        return [*_wrong_bits(arm, plan, checkpoint), *_wrong_weights(arm, plan, facts), *activations]


def _plan(arm: Arm) -> FormatPlan:
    plan = FORMATS.get(arm.weight_format)
    if plan is None:
        raise BadInput(
            "embedded_format",
            f"the embedded engine cannot serve {arm.weight_format}",
            why="OpenVINO on a CPU reads 16-bit, 8-bit and 4-bit GGUF weights, with activations as they are or int8.",
            fix=f"Choose one of {', '.join(FORMATS)}, or another engine.",
        )
    return plan


def _options(arm: Arm) -> dict[str, str | int | float | bool]:
    """Return what people set, under the names that the engine's own options have."""
    return arm.settings() | arm.options


def _check_options(arm: Arm) -> None:
    if arm.gpus is not None or arm.tensor_parallel_size is not None:
        raise BadInput(
            "embedded_gpus",
            "the embedded engine computes on the processor",
            why="The arm names gpus or a tensor_parallel_size, which would silently not be applied.",
            fix="Leave them out, or use the engine vllm.",
        )
    for option, value in _options(arm).items():
        expected = OPTIONS.get(option)
        if expected is None:
            near = get_close_matches(option, OPTIONS, n=1)
            raise BadInput(
                "embedded_option_unknown",
                f"the embedded engine has no option {option!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
                why="An option that is not understood would silently not be applied.",
                fix=f"Its options are {', '.join(OPTIONS)}.",
            )
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            raise BadInput(
                "embedded_option_type",
                f"option {option} cannot be {value!r}",
                why="Its value is of another kind than the engine expects.",
                fix="Write true or false for switches, numbers for sizes, without quotes.",
            )


def _flag(option: str, value: str | float) -> tuple[str, ...]:
    name = option.replace("_", "-")
    if isinstance(value, bool):
        return (f"--{name}" if value else f"--no-{name}",)
    return (f"--{name}", str(value))


def _wrong_bits(arm: Arm, plan: FormatPlan, checkpoint: dict[str, Fact]) -> list[str]:
    found = _value(checkpoint, "linear_bits")
    expected = _BITS[plan.linear]
    if found == expected:
        return []
    return [f"{arm.weight_format} has {expected}-bit linear layers, but those of the checkpoint have {found} bits"]


def _wrong_weights(arm: Arm, plan: FormatPlan, facts: dict[str, Fact]) -> list[str]:
    loaded = _value(facts, "quantization")
    if loaded is None or loaded in _LOADED_AS[plan.linear]:
        return []
    return [f"{arm.weight_format} was loaded with weights of type {loaded}"]


def _wrong_activations(arm: Arm, plan: FormatPlan, facts: dict[str, Fact]) -> list[str]:
    """Refuse activations that are quantised against the claim; the reverse is the processor's limit, and a finding."""
    if plan.quantises_activations or not _value(facts, "activation_quantization_effective"):
        return []
    return [f"{arm.weight_format} keeps 16-bit or wider activations, but OpenVINO quantises them"]


def _value(facts: dict[str, Fact], name: str) -> str | int | float | bool | None:
    found = facts.get(name)
    return None if found is None else found.value
