"""The Deployment and the Service of one arm."""

import math
from dataclasses import dataclass
from typing import Any

from whichbits.serve.kubernetes.manifests.arguments import PORT, arguments
from whichbits.serve.kubernetes.manifests.environment import server_environment
from whichbits.study.arm import Arm
from whichbits.study.model import Study

Manifest = dict[str, Any]

_PROBE_SECONDS = 5
_SHARED_MEMORY_GIB = 2
"""For each GPU: ranks of one server pass tensors through it, and a container's default is 64 MiB."""
_PARALLEL_OPTIONS = ("pipeline_parallel_size", "data_parallel_size")


@dataclass(frozen=True)
class Place:
    """Where an arm is to live: the name of its Deployment and Service, its namespace, its Service's port, its image."""

    name: str
    namespace: str
    port: int
    image: str


def server(study: Study, arm_name: str, place: Place) -> tuple[Manifest, Manifest]:
    """Return what serves the arm. Raises BadInput if an option holds a secret."""
    return _deployment(study, arm_name, place), _service(study, arm_name, place)


def labels(place: Place) -> dict[str, str]:
    """Return what the Service and the Deployment know the pods by."""
    return {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": place.name}


def metadata(name: str, namespace: str, study: Study, **more: Any) -> Manifest:
    """Return an object's metadata, with the study that it belongs to."""
    annotations = {"whichbits/study": study.name} | more.pop("annotations", {})
    managed = {"app.kubernetes.io/managed-by": "whichbits"} | more.pop("labels", {})
    return {"name": name, "namespace": namespace, "labels": managed, "annotations": annotations}


def gpus(arm: Arm) -> int:
    """Return the GPUs of one replica: the product of its parallel sizes."""
    options = {name.replace("-", "_"): value for name, value in arm.options.items()}
    return math.prod([arm.tensor_parallel_size or 1, *(int(options.get(name, 1)) for name in _PARALLEL_OPTIONS)])


def _deployment(study: Study, arm_name: str, place: Place) -> Manifest:
    arm = study.arms[arm_name]
    seconds = math.ceil(study.limits.ready_seconds)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _arm_metadata(study, arm_name, place),
        "spec": {
            "replicas": arm.replicas,
            # A rolling update would need one more GPU than the arm has.
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": seconds + 60,
            "selector": {"matchLabels": labels(place)},
            "template": {
                "metadata": {"labels": labels(place)},
                "spec": _pod(study, arm, place),
            },
        },
    }


def _service(study: Study, arm_name: str, place: Place) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _arm_metadata(study, arm_name, place),
        "spec": {
            "selector": labels(place),
            "ports": [{"name": "http", "port": place.port, "targetPort": "http", "protocol": "TCP"}],
        },
    }


def _arm_metadata(study: Study, arm_name: str, place: Place) -> Manifest:
    return metadata(place.name, place.namespace, study, labels=labels(place), annotations={"whichbits/arm": arm_name})


def _pod(study: Study, arm: Arm, place: Place) -> Manifest:
    return {
        # Else a Service called vllm puts VLLM_PORT=tcp://... into every container, which vLLM reads as its own.
        "enableServiceLinks": False,
        "containers": [_container(study, arm, place)],
        "volumes": [
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{_SHARED_MEMORY_GIB * gpus(arm)}Gi"}}
        ],
    }


def _container(study: Study, arm: Arm, place: Place) -> Manifest:
    health = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": _PROBE_SECONDS, "timeoutSeconds": 5}
    gpu = {"nvidia.com/gpu": str(gpus(arm))}
    return {
        "name": "vllm",
        "image": place.image,
        # Spelt out: what an image starts by itself differs from version to version.
        "command": ["python3", "-m", "vllm.entrypoints.openai.api_server"],
        "args": list(arguments(arm, place.image)),
        "env": server_environment(arm, resets=study.cache == "reset"),
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "resources": {"requests": gpu, "limits": gpu},
        "startupProbe": health | {"failureThreshold": math.ceil(study.limits.ready_seconds / _PROBE_SECONDS)},
        # No liveness probe: it would kill a server for being busy, in the middle of a measurement.
        "readinessProbe": health | {"failureThreshold": 3},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - in the container
    }
