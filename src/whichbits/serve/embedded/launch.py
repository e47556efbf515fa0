"""The embedded engine as whichbits' serve room starts and checks it."""

import sys
from dataclasses import dataclass
from difflib import get_close_matches

from gguf import GGMLQuantizationType

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve.embedded.facts import read_facts, read_failure
from whichbits.serve.embedded.weights.checkpoint import checkpoint_facts
from whichbits.serve.embedded.weights.source import store_weights
from whichbits.serve.engine import Launch, Prepared
from whichbits.study.model import Arm


@dataclass(frozen=True)
class Format:
    """How a weight format is made: the GGUF type of the linear layers, and the groups of activations (0: none)."""

    linear: GGMLQuantizationType
    linear_bits: int
    group_size: int


FORMATS = {
    "fp16": Format(GGMLQuantizationType.F16, 16, 0),
    "w8a16": Format(GGMLQuantizationType.Q8_0, 8, 0),
    "w8a8-int8": Format(GGMLQuantizationType.Q8_0, 8, 32),
    "w4a16": Format(GGMLQuantizationType.Q4_0, 4, 0),
    "w4a8-int8": Format(GGMLQuantizationType.Q4_0, 4, 32),
}
OPTIONS = {
    "kv_cache_gib": "--kv-cache-gib",
    "kv_cache_dtype": "--kv-cache-dtype",
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "enable_prefix_caching": "--enable-prefix-caching",
    "threads": "--threads",
}


class EmbeddedEngine:
    """OpenVINO GenAI on this machine's CPU; needs nothing but the extra ``[embedded]``."""

    name = "embedded"

    def prepare(self, arm: Arm) -> Prepared:
        """Fetch the model if it is built in, and rewrite it to the arm's format; seconds, once a cache."""
        _check_options(arm)
        stored = store_weights(arm.model, _format(arm).linear)
        return Prepared(str(stored.path), checkpoint_facts(stored.path) | _source(stored.source, stored.source_sha256))

    def command(self, arm: Arm, prepared: Prepared, host: str, port: int) -> Launch:
        """Return the command of a server of its own."""
        fixed = ("--model", prepared.model_path, "--host", host, "--port", str(port))
        group = ("--dynamic-quantization-group-size", str(_format(arm).group_size))
        name = ("--served-model-name", self.served_model(arm))
        options = tuple(part for key, value in arm.options.items() for part in _flag(OPTIONS[key], value))
        return Launch((sys.executable, "-m", "whichbits.serve.embedded", *fixed, *name, *group, *options), {})

    def served_model(self, arm: Arm) -> str:
        """Return the model's name as the study has it."""
        return arm.model

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        """Read the fact lines of the server's log."""
        return read_facts(log_text)

    def failure(self, log_text: str) -> str | None:
        """Return the first cause that the log states."""
        return read_failure(log_text)

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        """Compare claim, checkpoint and log.

        A claim of 8-bit activations on a processor that cannot quantise them is no lie of the arm: it is left to a
        finding. The reverse, activations quantised where 16 bits are claimed, is.
        """
        claimed = _format(arm)
        reasons = []
        stored_bits = checkpoint["linear_bits"].value
        if stored_bits != claimed.linear_bits:
            reasons.append(f"its linear layers hold {stored_bits} bits, not {claimed.linear_bits}")
        group = facts["activation_quantization_group_size"].value
        if group is not None and group != claimed.group_size:
            reasons.append(f"activations are quantised in groups of {group}, not {claimed.group_size}")
        return reasons


def _format(arm: Arm) -> Format:
    if arm.weight_format not in FORMATS:
        raise BadInput(
            "embedded_format_unknown",
            f"The embedded engine cannot serve {arm.weight_format}.",
            why="It runs GGUF weights on a CPU, which has no such arithmetic.",
            fix=f"Use one of {', '.join(FORMATS)}.",
        )
    return FORMATS[arm.weight_format]


def _check_options(arm: Arm) -> None:
    for key in arm.options:
        if key not in OPTIONS:
            near = get_close_matches(key, OPTIONS, n=1)
            raise BadInput(
                "embedded_option_unknown",
                f"The embedded engine has no option '{key}'" + (f"; did you mean '{near[0]}'?" if near else "."),
                why="Options are the engine's own words.",
                fix=f"Use {', '.join(OPTIONS)}.",
            )


def _flag(flag: str, value: str | float | bool) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (flag if value else flag.replace("--", "--no-", 1),)
    return (flag, str(value))


def _source(source: str, sha256: str) -> dict[str, Fact]:
    return {"source": Fact(source, "study"), "source_sha256": Fact(sha256, source)}
