"""Whatever logs you in with kubectl logs whichbits in: here, a plug-in that hands out a token, over TLS."""

import json
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.serve.kubernetes.cluster import Cluster, serving, write_kubeconfig
from tests.serve.kubernetes.test_fleet import refusal, started
from whichbits.errors import BadInput


def certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """Return a server's TLS for 127.0.0.1, and the file of the authority that vouches for it: itself."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, signed = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "1", "-subj", "/CN=double", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(signed)),
        ],
        check=True,
        capture_output=True,
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(signed, key)
    return tls, str(signed)


def plug_in(token: str) -> dict[str, Any]:
    """A user whose token is printed by a command, as clouds have it."""
    version = "client.authentication.k8s.io/v1beta1"
    credential = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}}
    return {"exec": {"apiVersion": version, "command": "echo", "args": [json.dumps(credential)]}}


async def test_a_plug_in_that_hands_out_a_token(tmp_path: Path, cluster: Cluster) -> None:
    tls, authority = certificate(tmp_path)
    cluster.token = "of-today"
    with serving(cluster.application(), tls) as cluster.url:
        write_kubeconfig(cluster, authority=authority, user=plug_in("of-today"))
        async with started(tmp_path, arm={"replicas": 2}) as running:
            assert [replica.name for replica in running.replicas] == ["vllm-7w92m", "vllm-pm7wp"]

        write_kubeconfig(cluster, authority=authority, user=plug_in("of-yesterday"))
        assert (await refusal(tmp_path, BadInput)).code == "kubernetes_forbidden"
    assert cluster.authorizations == {"Bearer of-today", "Bearer of-yesterday"}
