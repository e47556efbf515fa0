"""Whether servers that are up at once fit the card that they share: their engine looks at its own share only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whichbits.doctor.diagnosis import Diagnosis, Patient, good
from whichbits.doctor.places import servers_by_gpu, share_of_card
from whichbits.errors import BadInput
from whichbits.predict.constants import default_constants
from whichbits.predict.deployment.capacity import room_of
from whichbits.predict.deployment.deployment import Deployment
from whichbits.study.arm import Arm
from whichbits.study.model import Study


@dataclass(frozen=True)
class _Server:
    """What one server is estimated to take of a GPU, and what it insists on finding free when it starts, in GiB."""

    arm: str
    takes: float
    insists_on: float
    card: float


def check_together(patient: Patient) -> Iterator[Diagnosis]:
    """Add up the vLLM servers of each GPU that several of them are named for."""
    study = patient.study
    if study is None or study.arms_together == "sleep":
        return
    name = next((state.name for state in patient.gpus), None) or study.gpu
    if name is None:
        return
    for crowd in _crowds(study):
        for gpu, arms in crowd.items():
            servers = [server for arm in arms if (server := _server(patient, study.arms[arm], arm, name)) is not None]
            if len(arms) > 1 and len(servers) == len(arms):
                yield _judged(gpu, servers)


def _crowds(study: Study) -> Iterator[Mapping[int, list[str]]]:
    """Yield, for servers that are up at once, the arm of each by GPU."""
    together = [list(study.arms)] if study.arms_together else [[arm] for arm in study.arms]
    for arms in together:
        crowd: dict[int, list[str]] = {}
        for name in arms:
            for gpu, servers in _servers(study.arms[name]).items():
                crowd.setdefault(gpu, []).extend([name] * servers)
        yield crowd


def _servers(arm: Arm) -> Mapping[int, int]:
    """Return how many servers of an arm that is started are on each GPU that it names."""
    if arm.engine != "vllm" or arm.target is not None or arm.gpus is None:
        return {}
    return servers_by_gpu(arm)


def _server(patient: Patient, arm: Arm, name: str, card: str) -> _Server | None:
    """Return what a server takes; None if its arm cannot be served there, of which its own line speaks."""
    constants, version = default_constants(), patient.version_for(arm)
    share = share_of_card(arm, version)
    try:
        deployment = Deployment.of(arm, card, version)
        room = room_of(deployment, constants)
    except BadInput:
        return None
    graphs = 0.0 if deployment.eager else constants["capacity.graphs_gib"]
    own = room.weights_gib + room.activation_gib + room.beside_torch_gib + graphs + room.kv_cache_gib
    insists_on = share * deployment.memory_gib
    return _Server(name, insists_on if arm.kv_cache_gib is None else own, insists_on, deployment.memory_gib)


def _judged(gpu: int, servers: list[_Server]) -> Diagnosis:
    """Whoever comes last finds what the others leave."""
    total, card = sum(each.takes for each in servers), servers[0].card
    subject = f"GPU {gpu}"
    if total > card:
        return Diagnosis(
            "servers_too_many",
            "problem",
            subject,
            f"{len(servers)} servers at once take about {total:.0f} GiB, and a process sees {card:.0f}",
            why="each server looks at its own share only, and with kv_cache_gib not even at that",
            fix="give each a smaller kv_cache_gib or gpu_memory_utilization, or start the arms in turn",
        )
    free = {each.arm: card - (total - each.takes) for each in servers}
    refused = [each for each in servers if each.insists_on > free[each.arm]]
    if refused:
        arm, insists_on = refused[0].arm, refused[0].insists_on
        return Diagnosis(
            "server_insists",
            "problem",
            subject,
            f"{arm} insists on {insists_on:.0f} GiB that are free; if it starts last, about {free[arm]:.0f} are",
            why="vLLM refuses to start where gpu_memory_utilization x total is not free, also with kv_cache_gib",
            fix=f"give each server there a gpu_memory_utilization of at most {_floored(min(free.values()) / card):g}",
        )
    return good("servers_fit", subject, f"{len(servers)} servers at once take about {total:.0f} GiB of {card:.0f}")


def _floored(share: float) -> float:
    return int(100 * share) / 100
