"""Is an arm what it claims to be?"""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import Finding
from whichbits.language.phrase import phrase


def idle_activation_quantization(observed: Observed) -> Iterator[Finding]:
    """Name arms that claim narrow activations on a machine that computes with wide ones."""
    claiming = (arm for arm in observed.manifest.arms.values() if not arm.weight_format.endswith("16"))
    for arm in claiming:
        facts = [replica.facts.get("activation_quantization_effective") for replica in arm.replicas]
        idle = [fact for fact in facts if fact is not None and fact.value is False]
        if idle:
            text = phrase(
                "{arm} claims {weight_format}, but this machine does not quantise activations at run time: only "
                "the width of its weights was measured, not that of its arithmetic.",
                arm=arm.arm,
                weight_format=arm.weight_format,
            )
            lines = tuple(fact.line or fact.source for fact in idle)
            yield Finding("observed", "activation_quantization_ineffective", text, lines)
