"""How many tokens the KV cache holds: what the engine leaves after weights, the largest step and CUDA graphs."""

from dataclasses import dataclass

from whichbits.errors import BadInput
from whichbits.predict.constants import Constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.study.gpus import share_among

_GIB = 2**30


@dataclass(frozen=True)
class Room:
    """One GPU's memory in GiB, as the engine divides it."""

    budget_gib: float
    weights_gib: float
    activation_gib: float
    beside_torch_gib: float
    graphs_gib: float
    kv_cache_gib: float
    kv_cache_tokens: int

    def blocks(self, block_size: int) -> int:
        """Return the blocks that requests can use; vLLM keeps one for itself."""
        return self.kv_cache_tokens // block_size - 1


def room_of(deployment: Deployment, constants: Constants) -> Room:
    """Divide the memory of the deployment's GPUs.

    Raises:
        BadInput: ``does_not_fit`` if the weights leave no room, or replicas on one GPU ask for more than it has.
    """
    arm, version = deployment.arm, deployment.version
    share = arm.gpu_memory_utilization or _share_by_default(deployment)
    if arm.kv_cache_gib is None and deployment.replicas_on_a_gpu * share > 1:
        raise _asked_for_twice(deployment, share)
    budget = deployment.memory_gib * share
    weights = weights_gib(deployment)
    activation = constants["capacity.activation"] * _activation_gib(deployment)
    beside = constants["capacity.beside_torch_gib" if deployment.gpus == 1 else "capacity.beside_torch_parallel_gib"]
    graphs = 0.0 if deployment.eager or not version.graphs_in_budget else constants["capacity.graphs_gib"]
    left = _left(deployment, budget, weights + activation + beside + graphs)
    block = arm.block_size or 16
    blocks = _overridden(deployment) or int(max(left, 0.0) * _GIB / (deployment.kv_bytes_per_token * block))
    if blocks < 2:
        raise _too_large(deployment, weights, budget)
    return Room(budget, weights, activation, beside, graphs, left, blocks * block)


def _share_by_default(deployment: Deployment) -> float:
    """Return what a replica gets where its arm says nothing."""
    together = deployment.replicas_on_a_gpu
    return deployment.version.default_memory_share if together == 1 else share_among(together)


def _left(deployment: Deployment, budget: float, taken: float) -> float:
    """Return what the KV cache gets: what is given if the card has it beside what is ``taken``, or the budget's rest.

    vLLM divides no budget where ``kv_cache_gib`` is given: it takes that much, and runs out of memory or does not.
    """
    given = deployment.arm.kv_cache_gib
    if given is None:
        return budget - taken
    return float(given) if deployment.replicas_on_a_gpu * (taken + given) <= deployment.memory_gib else 0.0


def weights_gib(deployment: Deployment) -> float:
    """Return the weights of one GPU, as the log's "Model loading took"; a tied head is held once."""
    return deployment.checkpoint.total_bytes / deployment.gpus / _GIB


def _activation_gib(deployment: Deployment) -> float:
    """Return what the largest step holds at once: the MLP's gate, up and product, and the residual stream, in 16 bits.

    The profiling run also samples for ``max_num_seqs`` requests, whose logits are in 32 bits.
    """
    checkpoint = deployment.checkpoint
    intermediate = (checkpoint.intermediate or 4 * checkpoint.hidden) / deployment.gpus
    step = deployment.max_num_batched_tokens * 2 * (3 * intermediate + 4 * checkpoint.hidden)
    sampling = deployment.max_num_seqs * checkpoint.vocabulary * 4 / deployment.gpus
    return max(step, sampling) / _GIB


def _overridden(deployment: Deployment) -> int | None:
    given = deployment.arm.options.get("num_gpu_blocks_override")
    return int(given) if isinstance(given, int | float) else None


def _too_large(deployment: Deployment, weights: float, budget: float) -> BadInput:
    return BadInput(
        "does_not_fit",
        f"{deployment.arm.model} in {deployment.arm.weight_format} leaves no KV cache on {deployment.device.name}:"
        f" {weights:.1f} GiB of weights, {budget:.1f} GiB allowed",
        why="the weights of each GPU take what gpu_memory_utilization allows",
        fix="use fewer bits, a larger GPU, or a higher tensor_parallel_size",
    )


def _asked_for_twice(deployment: Deployment, share: float) -> BadInput:
    together = deployment.replicas_on_a_gpu
    return BadInput(
        "does_not_fit",
        f"{together} replicas share a {deployment.device.name} and each takes {share:g} of its memory",
        why="each takes gpu_memory_utilization of the whole GPU, and vLLM does not start where less is free",
        fix=f"set gpu_memory_utilization to {int(100 / together) / 100:g} or less, or give each its own gpus",
    )
