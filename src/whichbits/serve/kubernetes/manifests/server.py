"""The Deployment and the Service of one arm, and what closes its port where it must be closed."""

import math

from whichbits.serve.kubernetes.manifests.arguments import PORT, arguments
from whichbits.serve.kubernetes.manifests.environment import server_environment
from whichbits.serve.kubernetes.manifests.network import network_policy
from whichbits.serve.kubernetes.manifests.place import Manifest, Place, labels, metadata
from whichbits.serve.kubernetes.manifests.room import SHARED_MEMORY_GIB, requests
from whichbits.study.arm import Arm
from whichbits.study.model import Study

_PROBE_SECONDS = 5
_DEVELOPMENT_MODE = (
    "VLLM_SERVER_DEV_MODE=1, since the study resets caches: this server obeys whoever reaches its port."
    " The NetworkPolicy of this name lets only labelled pods reach it, if the cluster enforces policies."
)
_GPU_NOTE = (
    "The study is about {}. To insist on it, add nodeSelector nvidia.com/gpu.product with the value that"
    " 'kubectl get nodes -L nvidia.com/gpu.product' shows."
)
_PARALLEL_OPTIONS = ("pipeline_parallel_size", "data_parallel_size")


def server(study: Study, arm_name: str, place: Place, home: str) -> tuple[Manifest, ...]:
    """Return what serves the arm to pods of its namespace and of ``home``.

    Raises:
        BadInput: an option holds a secret.
    """
    served = _deployment(study, arm_name, place), _service(study, arm_name, place)
    return (*served, network_policy(study, place, home)) if _resets(study) else served


def _resets(study: Study) -> bool:
    """Tell whether the study empties caches by asking the server, which only its development mode allows."""
    return study.cache == "reset"


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
        "metadata": _arm_metadata(study, arm_name, place, **_notes(study)),
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


def _arm_metadata(study: Study, arm_name: str, place: Place, **notes: str) -> Manifest:
    annotations = {"whichbits/arm": arm_name} | {f"whichbits/{name}": note for name, note in notes.items()}
    return metadata(place.name, place.namespace, study, labels=labels(place), annotations=annotations)


def _notes(study: Study) -> dict[str, str]:
    """Return what whoever applies this should know."""
    mode = {"development-mode": _DEVELOPMENT_MODE} if _resets(study) else {}
    return mode | ({} if study.gpu is None else {"gpu": _GPU_NOTE.format(study.gpu)})


def _pod(study: Study, arm: Arm, place: Place) -> Manifest:
    return {
        # Else a Service called vllm puts VLLM_PORT=tcp://... into every container, which vLLM reads as its own.
        "enableServiceLinks": False,
        "containers": [_container(study, arm, place)],
        "volumes": [
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{SHARED_MEMORY_GIB * gpus(arm)}Gi"}}
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
        "env": server_environment(arm, resets=_resets(study)),
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "resources": {"requests": requests(arm.weight_format, gpus(arm)) | gpu, "limits": gpu},
        "startupProbe": health | {"failureThreshold": math.ceil(study.limits.ready_seconds / _PROBE_SECONDS)},
        # No liveness probe: it would kill a server for being busy, in the middle of a measurement.
        "readinessProbe": health | {"failureThreshold": 3},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - in the container
    }
