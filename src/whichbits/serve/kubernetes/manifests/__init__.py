"""What a cluster must be told so that it serves a study's arms, and drives them."""

from whichbits.serve.kubernetes.manifests.study import Images, manifests
from whichbits.serve.kubernetes.manifests.text import as_yaml

__all__ = ["Images", "as_yaml", "manifests"]
