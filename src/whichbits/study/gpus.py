"""GPUs as a study names them, and which of them each replica gets."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeInt


def _one_is_a_list_of_one(value: Any) -> Any:
    return (value,) if isinstance(value, int) and not isinstance(value, bool) else value


Gpus = Annotated[tuple[NonNegativeInt, ...], Field(min_length=1), BeforeValidator(_one_is_a_list_of_one)]


_OF_A_SHARED_GPU = 0.9


def share_among(servers: int) -> float:
    """Return the share of a device's memory that each of several servers on it gets: 0.9 / n, cut to two decimals."""
    return int(100 * _OF_A_SHARED_GPU / servers) / 100


def shares(gpus: tuple[int, ...], replicas: int, per_replica: int) -> tuple[tuple[int, ...], ...]:
    """Return the GPUs of each replica: one after the other, from the start again when they run out."""
    return tuple(
        tuple(gpus[(index * per_replica + rank) % len(gpus)] for rank in range(per_replica))
        for index in range(replicas)
    )


def insist_on_distinct(gpus: tuple[int, ...], replicas: int, per_replica: int) -> None:
    """Raise ValueError if a replica would have one GPU twice."""
    for index, share in enumerate(shares(gpus, replicas, per_replica)):
        if twice := [gpu for gpu in share if share.count(gpu) > 1]:
            message = (
                f"replica {index} needs {per_replica} GPUs (tensor_parallel_size) and would have GPU {twice[0]} twice; "
                f"name as many different gpus"
            )
            raise ValueError(message)
