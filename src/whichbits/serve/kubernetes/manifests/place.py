"""Where an arm lives in a cluster, and what its objects are called and labelled."""

from dataclasses import dataclass
from typing import Any

from whichbits.study.model import Study

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where an arm is to live: the name of its Deployment and Service, its namespace, its Service's port, its image."""

    name: str
    namespace: str
    port: int
    image: str


def labels(place: Place) -> dict[str, str]:
    """Return what the Service and the Deployment know the pods by."""
    return {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": place.name}


def metadata(name: str, namespace: str, study: Study, **more: Any) -> Manifest:
    """Return an object's metadata, with the study that it belongs to."""
    annotations = {"whichbits/study": study.name} | more.pop("annotations", {})
    managed = {"app.kubernetes.io/managed-by": "whichbits"} | more.pop("labels", {})
    return {"name": name, "namespace": namespace, "labels": managed, "annotations": annotations}
