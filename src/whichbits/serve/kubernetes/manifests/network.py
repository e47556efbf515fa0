"""Who may reach an arm that runs in vLLM's development mode: only pods that carry a label."""

from whichbits.serve.kubernetes.manifests.arguments import PORT
from whichbits.serve.kubernetes.manifests.place import Manifest, Place, labels, metadata
from whichbits.study.model import Study

CLIENT = {"whichbits/client": "true"}
"""The label of pods that may send to the arms; the study's Job carries it."""

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"  # set by Kubernetes itself on every namespace
_NOTE = (
    "Closes the port to all but pods labelled whichbits/client=true. Metrics and cache resets come through the API"
    " server: where your network plugin counts it as a stranger, add its addresses as an ipBlock."
)


def network_policy(study: Study, place: Place, home: str) -> Manifest:
    """Return what closes an arm's port to all but labelled pods of its own namespace and of ``home``, the Job's."""
    senders: list[Manifest] = [{"podSelector": {"matchLabels": CLIENT}}]
    if home != place.namespace:
        senders.append(
            {
                "namespaceSelector": {"matchLabels": {_NAMESPACE_LABEL: home}},
                "podSelector": {"matchLabels": CLIENT},
            }
        )
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(place.name, place.namespace, study, annotations={"whichbits/note": _NOTE}),
        "spec": {
            "podSelector": {"matchLabels": labels(place)},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": senders, "ports": [{"protocol": "TCP", "port": PORT}]}],
        },
    }
