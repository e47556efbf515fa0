"""One arm made of a checkpoint: chosen, rounded, written, read back, and only then given its name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from whichbits.arms.blocks import (
    Block,
    blocks_of,
    largest_in,
    quantise,
    spread,
    stored_tensors,
    write_block,
)
from whichbits.arms.codes.layouts import layout_of
from whichbits.arms.codes.rounding import scale_type
from whichbits.arms.declaration import declare
from whichbits.arms.files.folder import appearing, copy_extras, insist_on_free, json_text
from whichbits.arms.files.shards import SHARD_BYTES, Shards, Wanted
from whichbits.arms.files.source import Source, read_bytes
from whichbits.arms.layers import Choice, choose
from whichbits.arms.provenance import Arm, write_provenance
from whichbits.arms.recipe import Recipe
from whichbits.arms.verify import bytes_of, layer_errors
from whichbits.checkpoint.safetensors import Tensor

_COPY_BYTES = 8 * 2**20
_SPARE_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Plan:
    """What one arm will hold, before anything is written."""

    recipe: Recipe
    choice: Choice
    scales_as: Mapping[str, str]
    wanted: tuple[Wanted, ...]
    config: Mapping[str, Any]

    @property
    def stored_bytes(self) -> int:
        """Bytes of all its tensors."""
        return sum(each.stored_bytes for each in self.wanted)


def plan_arm(source: Source, recipe: Recipe) -> Plan:
    """Work out an arm.

    Raises:
        BadInput: ``arm_layers_unfit`` or ``arm_awq_names``.
    """
    choice = choose(source, recipe)
    scales_as = {matrix.module: scale_type(matrix.weight.dtype, recipe) for matrix in choice.quantised}
    config = declare(source.config, recipe, choice)
    return Plan(recipe, choice, scales_as, tuple(_wanted(source, recipe, choice, scales_as)), config)


def insist_on_room(folder: Path, plans: list[Plan]) -> None:
    """Refuse before anything is written what the disk has no room for.

    Raises:
        BadInput: ``arm_no_room``.
    """
    needed = sum(plan.stored_bytes for plan in plans) + _SPARE_BYTES
    insist_on_free(folder, needed)


def make_arm(source: Source, plan: Plan, output: Path, hashes: Mapping[str, str], workers: int) -> Arm:
    """Make one arm in a folder of its own below ``output``, which appears only when all of it was read back.

    Raises:
        BadInput: ``arm_exists``, ``arm_not_finite``, or what reading the source refuses.
        ArmMismatch: ``arm_error_too_large`` or ``arm_not_recognised``; nothing is left behind.
    """
    with appearing(output / plan.recipe.name) as folder:
        _write_tensors(source, plan, folder, workers)
        (folder / "config.json").write_text(json_text(plan.config), encoding="utf-8")
        copy_extras(source.folder, folder)
        sizes = bytes_of(folder, source, plan.recipe)
        errors = tuple(layer_errors(folder, plan.choice.quantised, plan.recipe, plan.scales_as, workers))
        arm = Arm(output / plan.recipe.name, plan.recipe, errors, plan.choice.kept, plan.choice.share, sizes)
        write_provenance(folder, arm, source, hashes, how="rounded to nearest")
    return arm


def _wanted(source: Source, recipe: Recipe, choice: Choice, scales_as: Mapping[str, str]) -> Iterator[Wanted]:
    quantised = {matrix.weight.name: matrix for matrix in choice.quantised}
    for name, tensor in source.tensors.items():
        matrix = quantised.get(name)
        if matrix is None:
            yield Wanted(name, tensor.dtype, tensor.shape)
        else:
            for stored in stored_tensors(matrix, recipe, scales_as[matrix.module]):
                yield Wanted(f"{matrix.module}.{stored.role}", stored.dtype, stored.shape)


def _write_tensors(source: Source, plan: Plan, folder: Path, workers: int, shard_bytes: int = SHARD_BYTES) -> None:
    quantised = {matrix.weight.name for matrix in plan.choice.quantised}
    blocks = [block for matrix in plan.choice.quantised for block in blocks_of(matrix, plan.recipe)]
    largest = _largest(plan.recipe, blocks, workers)
    with Shards(folder, plan.wanted, shard_bytes) as shards:
        tasks: list[Callable[[], None]] = [partial(_round_block, block, plan, largest, shards) for block in blocks]
        tasks += [partial(_copy, each, shards) for name, each in source.tensors.items() if name not in quantised]
        for _ in spread(workers, lambda task: task(), tasks):
            pass


def _largest(recipe: Recipe, blocks: list[Block], workers: int) -> dict[str, float]:
    """Return each matrix's largest magnitude, where one scale serves all of it."""
    if recipe.strategy != "tensor":
        return {}
    found: dict[str, float] = {}
    for block, size in zip(blocks, spread(workers, largest_in, blocks), strict=True):
        found[block.matrix.module] = max(size, found.get(block.matrix.module, 0.0))
    return found


def _round_block(block: Block, plan: Plan, largest: Mapping[str, float], shards: Shards) -> None:
    scales_as = plan.scales_as[block.matrix.module]
    rounded = quantise(block, plan.recipe, scales_as, largest.get(block.matrix.module))
    pieces = layout_of(plan.recipe).pieces(rounded, plan.recipe, scales_as)
    write_block(block, pieces, stored_tensors(block.matrix, plan.recipe, scales_as), shards)


def _copy(tensor: Tensor, shards: Shards) -> None:
    for at in range(0, tensor.stored_bytes, _COPY_BYTES):
        shards.write(tensor.name, at, read_bytes(tensor, at, min(at + _COPY_BYTES, tensor.stored_bytes)))
