"""In which numbers an arm multiplies: what its engine says, and what a probe of a layer has found."""

from whichbits.analyze.summary import ArmSummary
from whichbits.language.phrase import phrase

_NARROW = "a8-int8"


def activation_words(arm: ArmSummary) -> str | None:
    """Return the type of an arm's activations, None where nobody said.

    OpenVINO names the type of what it does not quantise, and never says whether it quantises the rest: a linear layer
    that is computed both ways at each start does.
    """
    dtype, effective = arm.facts.get("dtype"), quantised(arm)
    if effective is None or dtype is None:
        return None if dtype is None else str(dtype)
    if effective:
        return phrase("int8 where they meet weights (verified by a probe), {dtype} elsewhere", dtype=dtype)
    return phrase("{dtype}, not quantised (a probe found)", dtype=dtype)


def quantised(arm: ArmSummary) -> bool | None:
    """Return whether an arm that claims 8-bit activations was found to have them; None of any other arm."""
    effective = arm.facts.get("activation_quantization_effective")
    return effective if isinstance(effective, bool) and arm.weight_format.endswith(_NARROW) else None
