"""What a cluster must be told so that it serves a study's arms, and drives them."""

from whichbits.serve.kubernetes.manifests.study import Images, manifests

__all__ = ["Images", "manifests"]
