"""What ``whichbits arms`` is asked for: the source found or made, all that cannot work refused, arms one by one."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from whichbits.arms.files.folder import insist_on_absent
from whichbits.arms.files.source import Source, fingerprints, open_source
from whichbits.arms.llm_compressor.launch import Interpreter, compress, insist_on_ready
from whichbits.arms.make import Plan, insist_on_room, make_arm, plan_arm
from whichbits.arms.provenance import FILE, Arm, write_conversion
from whichbits.arms.recipe import Wishes, recipes_of
from whichbits.errors import BadInput

_WIDE = ("bf16", "fp16")


@dataclass(frozen=True)
class Order:
    """The formats wanted of ``model``, which is a checkpoint folder, a .gguf file or a built-in model's name."""

    model: str
    formats: Sequence[str]
    wishes: Wishes
    output: Path
    workers: int
    llm_compressor: Interpreter | None = None


def source_of(order: Order) -> Source:
    """Return the 16-bit checkpoint; a GGUF file's is written below ``output`` first, unless it is there.

    Raises:
        BadInput: the model or a format cannot be used; nothing was written then.
    """
    if not _is_gguf(order.model):
        recipes_of(order.formats, order.wishes)
        return open_source(Path(order.model).expanduser())
    if _narrow(order):
        recipes_of(_narrow(order), order.wishes)
    return open_source(_converted(order))


def carry_out(order: Order, source: Source) -> Iterator[Arm]:
    """Make the arms in turn and yield each when it is whole.

    Raises:
        BadInput: what cannot be made, before the first is begun; or damage that is found while reading.
        ArmMismatch: an arm did not read back as it should; earlier ones stay.
    """
    plans = [plan_arm(source, recipe) for recipe in recipes_of(_narrow(order), order.wishes)] if _narrow(order) else []
    for plan in plans:
        insist_on_absent(order.output / plan.recipe.name)
        if order.llm_compressor is not None:
            insist_on_ready(plan, order.llm_compressor)
    insist_on_room(order.output, plans)
    hashes = fingerprints(source.files, order.workers) if plans else {}
    for plan in plans:
        yield _one(order, source, plan, hashes)


def _one(order: Order, source: Source, plan: Plan, hashes: dict[str, str]) -> Arm:
    if order.llm_compressor is None:
        return make_arm(source, plan, order.output, hashes, order.workers)
    return compress(source, plan, order.output, hashes, order.llm_compressor)


def _narrow(order: Order) -> list[str]:
    """Return the formats that are quantised: of a GGUF file the 16-bit form can be asked for, too."""
    return [name for name in order.formats if not (_is_gguf(order.model) and name in _WIDE)]


def _is_gguf(model: str) -> bool:
    """Say whether a model is a GGUF file, or a built-in one, which is."""
    return model.endswith(".gguf") or not (_is_path(model) or Path(model).exists())


def _is_path(model: str) -> bool:
    return "/" in model or model.startswith((".", "~"))


def _converted(order: Order) -> Path:
    wide = next((name for name in order.formats if name in _WIDE), _WIDE[0])
    _insist_on_gguf()
    from whichbits.arms.gguf.convert import convert_gguf

    gguf, target = _gguf_file(order.model), order.output / wide
    hashes = fingerprints((gguf,), 1)
    if target.exists() and _made_of(target) == hashes:
        return target
    convert_gguf(gguf, target, wide, order.workers)
    write_conversion(target, gguf, hashes, wide)
    return target


def _gguf_file(model: str) -> Path:
    """Return the file; a built-in model is fetched, with its linear layers widened to 16 bits."""
    from gguf import GGMLQuantizationType

    from whichbits.serve.embedded.weights.source import BUILT_IN, store_weights

    if model in BUILT_IN:
        return store_weights(model, GGMLQuantizationType.F16).path
    file = Path(model).expanduser()
    if not file.is_file():
        raise BadInput(
            "arm_model_unknown",
            f"there is no model {model!r} to make arms of",
            why="it is no folder or .gguf file here, and not the name of a built-in model",
            fix=f"name a checkpoint folder, a .gguf file, or one of {', '.join(BUILT_IN)}",
        )
    return file


def _made_of(folder: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads((folder / FILE).read_text(encoding="utf-8"))["source"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def _insist_on_gguf() -> None:
    try:
        import gguf  # noqa: F401 - asked for, not used
    except ImportError:
        raise BadInput(
            "gguf_not_installed",
            "GGUF files cannot be read here",
            why="the package that knows their types is missing; a name that is no folder here is a built-in model's",
            fix="pip install 'whichbits[embedded]'",
        ) from None
