"""What runs a study inside the cluster: its study file, the rights to read pods, and a Job."""

from collections.abc import Mapping, Sequence
from typing import Any

from whichbits.serve.kubernetes.manifests.environment import from_secret
from whichbits.serve.kubernetes.manifests.names import dns_name, hashed_name
from whichbits.serve.kubernetes.manifests.network import CLIENT
from whichbits.serve.kubernetes.manifests.place import Manifest, Place, metadata
from whichbits.serve.kubernetes.manifests.text import as_yaml
from whichbits.study.model import Study

SCRIPT = """\
stopped= run=
trap 'stopped=yes; [ -z "$run" ] || kill -TERM "$run"' TERM INT
whichbits run /study/study.yaml --output /runs --plain & run=$!
[ -z "$stopped" ] || kill -TERM "$run"
wait "$run"; code=$?
while kill -0 "$run" 2>/dev/null; do wait "$run"; code=$?; done
[ -z "$stopped" ] || exit $code
trap 'exit $code' TERM INT
echo "Within an hour: kubectl cp $HOSTNAME:/runs runs && kubectl exec $HOSTNAME -- touch /runs/fetched"
for second in $(seq 3600); do [ -e /runs/fetched ] && break; sleep 1; done
exit $code
"""
"""A pod that has ended cannot be copied from; a pod that is deleted must tell whichbits, which then ends in order."""

_TO_END_SECONDS = 120
_KEPT_SECONDS = 24 * 3600


def driver(study: Study, places: Mapping[str, Place], image: str) -> tuple[Manifest, ...]:
    """Return all that drives ``study`` at its arms' ``places`` by a Job of ``image``."""
    namespaces = tuple(dict.fromkeys(place.namespace for place in places.values()))
    home, name = namespaces[0], dns_name(f"{study.name}-driver")
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(name, home, study),
    }
    rights = [manifest for namespace in namespaces for manifest in _rights(study, name, namespace, home)]
    text = as_yaml([attached(study, places)])
    # A Job's template cannot be changed: a study that changed needs a Job of another name.
    job = hashed_name(name, text, image, SCRIPT)
    return account, *rights, _study_file(study, text, job, home), _job(study, job, name, home, image)


def role_rules() -> list[Manifest]:
    """Return the rights that reading a Service's pods needs, for a Role in the pods' namespace."""
    return [
        {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get", "create"]},
    ]


def attached(study: Study, places: Mapping[str, Place]) -> dict[str, Any]:
    """Return ``study`` as a study file of arms that run at their ``places`` already."""
    # Defaults are written out: the whichbits in the image may have others.
    written = study.model_dump(mode="json", exclude_none=True, exclude={"every_arm", "output"})
    for name, place in places.items():
        arm, target = written["arms"][name], study.arms[name].target
        key = None if target is None else target.api_key_variable
        service = {"service": place.name, "namespace": place.namespace, "port": place.port}
        arm["target"] = {"kubernetes": service} | ({} if key is None else {"api_key_variable": key})
        for of_the_server in ("gpus", "python", "environment"):
            arm.pop(of_the_server, None)
    return written


def _rights(study: Study, name: str, namespace: str, home: str) -> tuple[Manifest, Manifest]:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata(name, namespace, study),
        "rules": role_rules(),
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name, namespace, study),
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": home}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
    }
    return role, binding


def _study_file(study: Study, text: str, name: str, namespace: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name, namespace, study),
        "data": {"study.yaml": text},
    }


def _job(study: Study, name: str, account: str, namespace: str, image: str) -> Manifest:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(name, namespace, study),
        "spec": {
            # A second try would measure a cluster that the first one has warmed.
            "backoffLimit": 0,
            # Long enough to read its log the next morning.
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": {
                "metadata": {"labels": CLIENT},
                "spec": {
                    "serviceAccountName": account,
                    "terminationGracePeriodSeconds": _TO_END_SECONDS,
                    "restartPolicy": "Never",
                    "containers": [_container(image, _keys(study))],
                    "volumes": [
                        {"name": "study", "configMap": {"name": name}},
                        {"name": "runs", "emptyDir": {}},
                    ],
                },
            },
        },
    }


def _container(image: str, keys: Sequence[str]) -> Manifest:
    # Whole cores and memory of its own, so that the client is not the limit.
    room = {"cpu": "2", "memory": "4Gi"}
    environment = {"env": [from_secret(key) for key in keys]} if keys else {}
    return {
        "name": "whichbits",
        "image": image,
        "command": ["sh", "-c", SCRIPT],
        **environment,
        "resources": {"requests": room, "limits": room},
        "volumeMounts": [{"name": "study", "mountPath": "/study"}, {"name": "runs", "mountPath": "/runs"}],
    }


def _keys(study: Study) -> tuple[str, ...]:
    keys = [arm.target.api_key_variable for arm in study.arms.values() if arm.target]
    return tuple(dict.fromkeys(key for key in keys if key is not None))
