"""What could be rented: every arm on every offered GPU, and why some of them cannot."""

from collections.abc import Iterator
from dataclasses import dataclass

from whichbits.errors import BadInput
from whichbits.hardware.devices import find_device
from whichbits.language.phrase import phrase
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.shipped import Known
from whichbits.study.fleet import FleetPlan
from whichbits.study.model import Study


@dataclass(frozen=True)
class Option:
    """A replica that could be rented: ``gpus`` of one kind for ``price_per_hour`` together; ``at_most`` GPUs in all."""

    arm: str
    weight_format: str
    gpu: str
    gpus: int
    price_per_hour: float
    at_most: int | None

    @property
    def name(self) -> str:
        """The option as people say it: ``w8a8 on L4``, ``bf16 on 2 x L4``."""
        gpus = f"{self.gpus} x {self.gpu}" if self.gpus > 1 else self.gpu
        return phrase("{arm} on {gpus}", arm=self.arm, gpus=gpus)


@dataclass(frozen=True)
class Placed:
    """An option and everything that decides its speed."""

    option: Option
    deployment: Deployment


@dataclass(frozen=True)
class Refused:
    """An option that cannot be served, by the error's code and text."""

    name: str
    code: str
    why: str


def options_of(study: Study, plan: FleetPlan, known: Known) -> tuple[list[Placed], list[Refused]]:
    """Return what could be rented, and what could not. A replica has GPUs of its own, whatever an arm shares at home.

    Raises:
        BadInput: ``device_unknown`` for a GPU that nobody knows: a typing error, not an option.
    """
    placed: list[Placed] = []
    refused: list[Refused] = []
    for option in _all(study, plan):
        arm = study.arms[option.arm].model_copy(
            update={
                "replicas": 1,
                "gpus": None,
                "balance": "round_robin",
                "tensor_parallel_size": option.gpus,
            }
        )
        try:
            deployment = Deployment.of(arm, option.gpu, study.engine_version)
            room_of(deployment, known.of(option.gpu))
        except BadInput as error:
            refused.append(Refused(option.name, error.code, error.what))
        else:
            placed.append(Placed(option, deployment))
    return placed, refused


def _all(study: Study, plan: FleetPlan) -> Iterator[Option]:
    for gpu, offer in plan.gpus.items():
        name = find_device(gpu).name
        for arm_name, arm in study.arms.items():
            own = arm.tensor_parallel_size
            for gpus in plan.tensor_parallel if own is None else (own,):
                price = offer.price_per_hour * gpus
                yield Option(arm_name, arm.weight_format, name, gpus, price, offer.at_most)
