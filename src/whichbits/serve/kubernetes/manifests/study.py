"""All manifests of a study, in the order in which a cluster should take them."""

from collections import Counter
from dataclasses import dataclass

from whichbits.errors import BadInput
from whichbits.serve.kubernetes.manifests.driver import driver
from whichbits.serve.kubernetes.manifests.names import dns_name
from whichbits.serve.kubernetes.manifests.place import Manifest, Place
from whichbits.serve.kubernetes.manifests.server import server
from whichbits.study.arm import Arm, KubernetesService
from whichbits.study.model import Study

DEFAULT_IMAGE = "vllm/vllm-openai:v0.11.0"
"""Pinned, since `latest` changes what a study measures."""
_ENGINE = "vllm"
_UNSAID = ("namespace", "default")


@dataclass(frozen=True)
class Images:
    """Images of arms that name none, and of the Job that drives the study; without the latter, there is no Job."""

    server: str = DEFAULT_IMAGE
    driver: str | None = None


def manifests(study: Study, images: Images) -> tuple[Manifest, ...]:
    """Return a Deployment and a Service for each arm, and what drives them from inside if ``images`` has a driver.

    Where nothing drives them, objects of the default namespace name none, so that ``kubectl -n`` chooses. With a
    driver they do: its rights and its study name the namespace, and kubectl refuses to put the rest elsewhere.

    Raises:
        BadInput: an arm is not for vLLM, runs elsewhere already, or would take another one's name.
    """
    places = {name: _place(study, name, images.server) for name in study.arms}
    _insist_on_different_places(places)
    home = next(iter(places.values())).namespace
    servers = [manifest for name, place in places.items() for manifest in server(study, name, place, home)]
    if images.driver is None:
        return tuple(_movable(manifest) for manifest in servers)
    return (*servers, *driver(study, places, images.driver))


def _movable(manifest: Manifest) -> Manifest:
    """Leave the default namespace unsaid."""
    metadata = {key: value for key, value in manifest["metadata"].items() if (key, value) != _UNSAID}
    return manifest | {"metadata": metadata}


def _place(study: Study, name: str, image: str) -> Place:
    arm = study.arms[name]
    service = _service(study, name, arm)
    return Place(service.service, service.namespace, service.port, service.image or image)


def _service(study: Study, name: str, arm: Arm) -> KubernetesService:
    if arm.engine != _ENGINE:
        raise _not_deployable(name, f"its engine is {arm.engine}", f"set its engine to {_ENGINE}")
    if arm.target is None:
        return KubernetesService(service=dns_name(f"{study.name}-{name}"))
    if arm.target.kubernetes is None:
        raise _not_deployable(name, "its target names servers that run already", "name a kubernetes service there")
    return arm.target.kubernetes


def _insist_on_different_places(places: dict[str, Place]) -> None:
    taken = Counter((place.namespace, place.name) for place in places.values())
    for name, place in places.items():
        if taken[place.namespace, place.name] > 1:
            why = f"another arm is {place.namespace}/{place.name}, too"
            raise _not_deployable(name, why, "give each arm a Service of its own under target.kubernetes.service")


def _not_deployable(arm: str, why: str, fix: str) -> BadInput:
    return BadInput("not_deployable", f"no manifests can be written for arm {arm!r}", why=why, fix=fix)
