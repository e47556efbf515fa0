"""Arms that nothing computed: a mock answered, at times that it was told."""

from collections.abc import Iterator

from whichbits.analyze.findings.observed import Observed
from whichbits.analyze.summary import Finding
from whichbits.language.phrase import listed, phrase
from whichbits.record.schema import ArmRecord

_MOCK = "whichbits-mock"
_SAYS_SO = ("engine_version", "owned_by")


def mocked(observed: Observed) -> Iterator[Finding]:
    """Name arms that are mocks, before anything else is said of them."""
    arms = [arm for arm in observed.manifest.arms.values() if is_mock(arm)]
    if arms:
        names = listed(arm.arm for arm in arms)
        text = phrase(
            "{names}: not a model, but whichbits' mock answered. Its times were ordered; they say something "
            "of the client and of this report, and nothing of any weight format, engine or machine.",
            names=names,
        )
        lines = (
            phrase("{arm}: engine {engine} at {url}", arm=arm.arm, engine=arm.engine, url=each.url)
            for arm in arms
            for each in arm.replicas
        )
        yield Finding("observed", "arm_is_mock", text, tuple(lines))


def is_mock(arm: ArmRecord) -> bool:
    """Return whether a mock served the arm, by its engine or by what any of its servers said of itself."""
    facts = [replica.facts.get(name) for replica in arm.replicas for name in _SAYS_SO]
    return arm.engine == "mock" or any(fact is not None and fact.value == _MOCK for fact in facts)
