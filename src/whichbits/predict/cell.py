"""One cell predicted: played with the best constants, and again with each draw of them for the intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

from whichbits.errors import BadInput
from whichbits.predict.constants import Constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.step_time import pace_of
from whichbits.predict.quantities import quantities
from whichbits.predict.simulation.scheduler import Limits
from whichbits.predict.simulation.simulate import Fleet, Played, Server, new_pools, play
from whichbits.predict.simulation.workload import Workload
from whichbits.study.model import CachePolicy


@dataclass(frozen=True)
class Question:
    """What a cell asks of an arm: the traffic, the cap on requests in flight, the state of the caches."""

    work: Workload
    concurrency: int | None
    cache: CachePolicy = "salt"
    seed: int = 0


def fleet_of(deployment: Deployment, constants: Constants, seed: int = 0) -> Fleet:
    """Return the arm's replicas under one set of constants.

    Raises:
        BadInput: ``does_not_fit``.
    """
    arm = deployment.arm
    block = arm.block_size or 16
    server = Server(
        pace=pace_of(deployment, constants),
        limits=Limits(
            deployment.max_num_batched_tokens,
            deployment.max_num_seqs,
            schedules_ahead=deployment.version.generation == "async",
        ),
        kv_blocks=room_of(deployment, constants).blocks(block),
        block_size=block,
        prefix_caching=arm.enable_prefix_caching is not False,
    )
    return Fleet(server, arm.replicas, arm.balance, seed, deployment.placing)


def play_cell(deployment: Deployment, question: Question, constants: Constants, *, keep_steps: bool = False) -> Played:
    """Play a cell once.

    Raises:
        BadInput: ``request_exceeds_cache`` if a request is larger than a whole KV cache; ``does_not_fit``.
    """
    fleet = fleet_of(deployment, constants, question.seed)
    _refuse_too_long(deployment, fleet.server, question.work)
    warm = question.cache == "warm"
    pools = new_pools(fleet, question.work, keeps_own=warm)
    if warm:
        play(fleet, question.work, question.concurrency, pools)
    return play(fleet, question.work, question.concurrency, pools, keep_steps=keep_steps)


def drawn(deployment: Deployment, question: Question, draws: Sequence[Constants]) -> dict[str, tuple[float, ...]]:
    """Return every quantity of a cell under each draw of the constants."""
    plays = [quantities(play_cell(deployment, question, constants, keep_steps=True)) for constants in draws]
    return {name: tuple(play[name] for play in plays) for name in plays[0]} if plays else {}


def _refuse_too_long(deployment: Deployment, server: Server, work: Workload) -> None:
    longest = max((p + o for p, o in zip(work.prompt_tokens, work.output_tokens, strict=True)), default=0)
    model_len = deployment.arm.max_model_len or deployment.checkpoint.max_position_embeddings or longest
    if longest <= min(server.kv_blocks * server.block_size, model_len):
        return
    raise BadInput(
        "request_exceeds_cache",
        f"the longest request has {longest} tokens, but {deployment.arm.model} on {deployment.device.name} takes"
        f" {min(server.kv_blocks * server.block_size, model_len)}",
        why="a request must fit into the KV cache and into max_model_len",
        fix="shorten prompts or answers, raise max_model_len, or choose a larger GPU",
    )
