"""The arms side by side: what each is, in a row."""

from whichbits.analyze.activations import activation_words
from whichbits.analyze.summary import ArmSummary, Summary
from whichbits.language.phrase import joined, phrase
from whichbits.record.schema import Manifest
from whichbits.report.sheets.sheet import Sheet
from whichbits.report.wording import number

_UNKNOWN = phrase("not known")


def at_a_glance(summary: Summary, manifest: Manifest) -> Sheet:
    """Return an arm a row."""
    replicas = {name: len(record.replicas) for name, record in manifest.arms.items()}
    return Sheet(
        name="arms-glance",
        title=phrase("At a glance"),
        meaning=phrase("What each arm is, by its log and checkpoint."),
        headings=(
            phrase("arm"),
            phrase("format"),
            phrase("model"),
            phrase("engine"),
            phrase("kernel"),
            phrase("activations"),
            phrase("replicas"),
            phrase("weights GiB"),
            phrase("KV tokens"),
            phrase("load s"),
        ),
        rows=tuple(_row(arm, replicas.get(name)) for name, arm in summary.arms.items()),
        words=6,
    )


def _row(arm: ArmSummary, replicas: int | None) -> tuple[str, ...]:
    return (
        arm.arm,
        arm.weight_format,
        arm.model or _UNKNOWN,
        joined(" ", filter(None, (arm.engine, arm.engine_version))),
        arm.kernel or _UNKNOWN,
        activation_words(arm) or _UNKNOWN,
        str(replicas) if replicas else _UNKNOWN,
        *(number(value) if value is not None else _UNKNOWN for value in (arm.weights_gib, arm.kv_cache_tokens)),
        number(arm.load_seconds) if arm.load_seconds is not None else _UNKNOWN,
    )
