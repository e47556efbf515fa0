"""What a file answers of the questions people ask about it: where the memory went, and how many requests fit."""

from collections.abc import Iterator, Mapping
from typing import Any

from whichbits.language.phrase import joined, phrase
from whichbits.report.wording import number

Facts = Mapping[str, Any]

_ACTIVATIONS = phrase("activations")
_TAKERS = (
    (phrase("weights"), ("weights_memory_gib", "model_memory_gib", "model_memory_gib_per_gpu", "model_memory_gib_max")),
    (phrase("weights and buffers"), ("consumed_memory_gib",)),
    (_ACTIVATIONS, ("activation_peak_gib", "activation_peak_gib_max")),
    (phrase("other than torch"), ("non_torch_memory_gib", "non_torch_memory_gib_max")),
    (phrase("CUDA graphs"), ("cuda_graph_gib", "cuda_graph_gib_max", "cuda_graph_estimated_gib")),
)
_KV = ("kv_cache_memory_gib", "kv_cache_memory_gib_per_gpu", "kv_cache_memory_gib_min")
_WHOLE = (
    ("requested_memory_gib", phrase("granted")),
    ("total_memory_gib", phrase("in all")),
    ("total_gpu_memory_gib", phrase("in all")),
)
_CAPS = {"max_num_seqs": "--max-num-seqs", "slots": phrase("the number of slots")}


def answers(facts: Facts) -> tuple[str, ...]:
    """Return short plain sentences; none where the facts do not suffice."""
    return tuple(sentence for sentence in (_memory(facts), _concurrency(facts), _fit(facts)) if sentence)


def _memory(facts: Facts) -> str | None:
    kv_gib = _first(facts, _KV)
    takers = list(_takers(facts))
    if kv_gib is None or not takers:
        return None
    whole = next(
        (
            phrase(" of {gib} GiB {said}", gib=number(facts[name]), said=said)
            for name, said in _WHOLE
            if facts.get(name)
        ),
        "",
    )
    return phrase(
        "Memory of a GPU: {takers}; {gib} GiB{whole} is left for the KV cache.",
        takers=joined(", ", takers),
        gib=number(kv_gib),
        whole=whole,
    )


def _takers(facts: Facts) -> Iterator[str]:
    for what, names in _TAKERS:
        gib = _first(facts, names)
        if gib is not None:
            batch = facts.get("max_num_batched_tokens") if what == _ACTIVATIONS else None
            yield joined(
                "",
                (what, f" {number(gib)}", phrase(" (for batches of {batch:,} tokens)", batch=batch) if batch else ""),
            )


def _concurrency(facts: Facts) -> str | None:
    times = facts.get("max_concurrency", facts.get("max_concurrency_per_engine"))
    length = facts.get("max_concurrency_tokens")
    if times is None or length is None:
        return None
    each = "" if "max_concurrency" in facts else phrase(" in each engine")
    more = "" if "requests_that_fit" in facts else phrase(" Give --mean-tokens for yours.")
    return phrase(
        "Maximum concurrency {times:g}x{each} is for requests of {length:,} tokens; shorter ones fit more often.{more}",
        times=times,
        each=each,
        length=length,
        more=more,
    )


def _fit(facts: Facts) -> str | None:
    fits = facts.get("requests_that_fit")
    if fits is None:
        return None
    hybrid = "hybrid_model" in (facts.get("hints") or ())
    said = phrase(
        "Of your requests ({tokens} tokens each) the KV cache holds {fits:,} at once{most}",
        tokens=number(facts["mean_tokens"]),
        fits=fits,
        most=phrase(" at most (each also holds state of a fixed size)") if hybrid else "",
    )
    by, at_once = facts.get("limited_by"), facts.get("requests_at_once")
    if by is None or at_once is None:
        return phrase("{said}; the scheduler's cap is not known.", said=said)
    if by == "kv_cache":
        return phrase("{said}; that is the limit.", said=said)
    return phrase(
        "{said}, but {cap} lets only {at_once:,} run: that is the limit.", said=said, cap=_CAPS[by], at_once=at_once
    )


def _first(facts: Facts, names: tuple[str, ...]) -> float | None:
    return next((facts[name] for name in names if facts.get(name) is not None), None)
