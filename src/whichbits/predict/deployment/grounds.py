"""What a prediction rests on: the tables behind the constants of an arm's step time, and what is only guessed."""

from whichbits.predict.constants import Constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.links import link_of


def used(deployment: Deployment) -> tuple[str, ...]:
    """Return the names of the constants that decide an arm's step time on its GPU."""
    architecture, family = deployment.architecture, deployment.kernel.family
    generation = deployment.version.generation
    launches = "layer.eager_us" if deployment.eager else "layer.pieces_us"
    if generation == "v0":
        launches = "layer.old_eager_us" if deployment.eager else "layer.old_engine_us"
    unpack = (f"kernel.{family}.{architecture}.unpack",) if family == "machete" else ()
    experts = ("experts.memory", "experts.math", "experts.layer_us") if deployment.checkpoint.experts else ()
    kind = link_of(deployment.device.name).kind
    links = (f"link.{kind}.start_us", f"link.{kind}.share") if deployment.gpus > 1 else ()
    return (
        f"gemm.{architecture}.fixed_us",
        f"gemm.{architecture}.memory",
        f"kernel.{family}.{architecture}.memory",
        f"kernel.{family}.{architecture}.math",
        f"host.{generation}.step_us",
        "attention.decode_memory",
        launches,
        *unpack,
        *experts,
        *links,
    )


def grounds(deployment: Deployment, constants: Constants) -> str:
    """Return one line: where the constants are from, and which of them no table covers."""
    cells = {name: constants.cells[name] for name in used(deployment)}
    sources = dict.fromkeys(
        cell.source.partition(",")[0].partition(":")[0] for cell in cells.values() if not _guessed(cell.source)
    )
    guessed = [name for name, cell in cells.items() if _guessed(cell.source)]
    far = f"; no table for {', '.join(guessed)}" if guessed else ""
    return ", ".join(sources) + far


def _guessed(source: str) -> bool:
    return source.startswith("no table")
