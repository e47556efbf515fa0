"""In what arms differ beside their bits: engine, options, activation types, eager mode, a start that was not alike."""

from collections.abc import Iterator
from typing import Any

from whichbits.analyze.activations import activation_words
from whichbits.analyze.findings.observed import Observed, number, replicas_of
from whichbits.analyze.summary import ArmSummary, Finding
from whichbits.language.phrase import joined, listed, phrase

COMPARED_FACTS = (
    "engine_version",
    "enforce_eager",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
    "gpu_memory_utilization",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "kv_cache_dtype",
    "block_size",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "attention_backend",
    "device_name",
    "async_scheduling",
)
"""Beside the bits; the type of activations has a rule of its own."""
TIMES_APART = 3.0
SHORTEST_S = 5.0
"""Below this, times of a start differ for many small reasons."""


def settings_differ(observed: Observed) -> Iterator[Finding]:
    """Name settings, told by at least two arms, on which they differ."""
    apart = {name: values for name, values in _told(observed).items() if len(set(values.values())) > 1}
    if apart:
        each = joined(
            "; ", (phrase("{name} is {by_arm}", name=name, by_arm=_by_arm(values)) for name, values in apart.items())
        )
        text = phrase(
            "Arms differ in more than their bits: {each}. What they differ in may explain a difference as "
            "well as the bits do.",
            each=each,
        )
        settled = phrase("a run in which all arms have the same of these, or that varies one of them alone")
        yield Finding(
            "observed", "settings_differ", text, tuple(phrase("facts: {name}", name=name) for name in apart), settled
        )


def activation_types_differ(observed: Observed) -> Iterator[Finding]:
    """Say that arms compute in different types."""
    types = {arm.arm: words for arm in observed.arms.values() if (words := activation_words(arm)) is not None}
    if len(set(types.values())) > 1:
        text = phrase(
            "Activations are {by_arm}. Kernels and attention differ by type on some devices, and answers do: "
            "the arms differ in this as well as in the bits of their weights.",
            by_arm=_by_arm(types),
        )
        settled = phrase("the same run with one `dtype` for all arms")
        yield Finding("observed", "activation_types_differ", text, (phrase("facts: dtype"),), settled)


def eager(observed: Observed) -> Iterator[Finding]:
    """Say which arms ran without CUDA graphs and compilation."""
    told = {arm.arm: arm.facts["enforce_eager"] for arm in observed.arms.values() if "enforce_eager" in arm.facts}
    running = [arm for arm, value in told.items() if value is True]
    if running:
        text = phrase(
            "{names} ran eagerly: every kernel is launched by the host, step by step. A step cannot be "
            "shorter than its launches, which weighs most on the arm with the shortest step, at low load. "
            "Results do not carry over to the default (CUDA graphs, torch.compile); it also leaves the KV "
            "cache more room.",
            names=listed(running),
        )
        lines = tuple(phrase("{arm}: enforce_eager {value}", arm=arm, value=value) for arm, value in told.items())
        yield Finding(
            "interpretation", "eager", text, lines, phrase("the same run without enforce_eager, at the lowest load")
        )


def starts_apart(observed: Observed) -> Iterator[Finding]:
    """Say that initialisation took far longer for one arm, which first starts and later ones do for any model."""
    times = {arm.arm: arm.init_seconds for arm in observed.arms.values() if arm.init_seconds}
    if len(times) < 2:
        return
    longest, shortest = max(times, key=lambda arm: times[arm]), min(times, key=lambda arm: times[arm])
    if times[longest] > max(TIMES_APART * times[shortest], SHORTEST_S):
        text = phrase(
            "Initialisation took {times} s for {longest} and {times_2} s for {shortest}. A first start "
            "compiles, tunes and fills file caches that later starts find, so this is no property of a "
            "format until starts are alike.",
            times=number(times[longest]),
            longest=longest,
            times_2=number(times[shortest]),
            shortest=shortest,
        )
        lines = tuple(
            phrase("{arm}: init_engine_seconds {seconds}", arm=arm, seconds=number(seconds))
            for arm, seconds in times.items()
        )
        settled = phrase("each arm started twice, in turn, with cold and then with warm caches")
        yield Finding("unresolved", "starts_apart", text, lines, settled)


def _told(observed: Observed) -> dict[str, dict[str, Any]]:
    """Return for each setting what each arm is known to have, arms that do not tell left out."""
    arms = observed.arms.values()
    told = {
        name: {arm.arm: value for arm in arms if (value := _fact(arm, name)) is not None} for name in COMPARED_FACTS
    }
    told["engine"] = {arm.arm: arm.engine for arm in arms}
    told["replicas"] = {arm.arm: replicas_of(observed, arm.arm) for arm in arms if arm.arm in observed.manifest.arms}
    return told | _options(observed)


def _fact(arm: ArmSummary, name: str) -> Any:
    return arm.engine_version if name == "engine_version" else arm.facts.get(name)


def _options(observed: Observed) -> dict[str, dict[str, Any]]:
    """Return the options that the study gives in the engine's own words: one left out is the engine's default."""
    asked = {arm: (of_arm or {}).get("options") for arm, of_arm in observed.manifest.study.get("arms", {}).items()}
    given = {arm: options for arm, options in asked.items() if isinstance(options, dict)}
    names = dict.fromkeys(name for options in given.values() for name in options)
    return {phrase("option {name}", name=name): {arm: _option(of, name) for arm, of in given.items()} for name in names}


def _option(options: dict[str, Any], name: str) -> str:
    return str(options[name]) if name in options else phrase("default")


def _by_arm(values: dict[str, Any]) -> str:
    return listed(phrase("{value} for {arm}", value=value, arm=arm) for arm, value in values.items())
