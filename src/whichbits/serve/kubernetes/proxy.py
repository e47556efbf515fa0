"""``kubectl proxy`` as a child: the cluster's API on loopback, with the user's own rights, for one Service only."""

import asyncio
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from whichbits.errors import BadInput, ServerNotReady
from whichbits.serve.endpoint.ready import last_lines
from whichbits.serve.process.server import ServerProcess
from whichbits.study.arm import KubernetesService

_SERVES = re.compile(r"Starting to serve on (127\.0\.0\.1:\d+)")
_POLL_SECONDS = 0.05
_START_SECONDS = 30.0
_CONFIG_SECONDS = 20.0
"""An exec credential plug-in may have to fetch a token first."""
_END_SECONDS = 0.5
_QUOTED_LINES = 3


def inside_cluster() -> bool:
    """Return whether this process runs in a pod: kubelet sets the variable in each."""
    return "KUBERNETES_SERVICE_HOST" in os.environ


class KubectlProxy:
    """One running ``kubectl proxy``, on a leash: it ends with whichbits, however that ends."""

    def __init__(self, target: KubernetesService, log: Path) -> None:
        """Start it. Call ``ready`` before use, and ``stop`` in every case."""
        self._process = ServerProcess(_command(target), {}, log)

    async def ready(self) -> str:
        """Return the proxy's address, without a slash at its end.

        Raises:
            ServerNotReady: it ended, or said nothing in time.
        """
        deadline = time.monotonic() + _START_SECONDS
        while (serves := _SERVES.search(self._process.log_text())) is None:
            if (ended := self.death()) is not None:
                raise ended
            if time.monotonic() > deadline:
                raise self._error(f"kubectl proxy did not serve within {_START_SECONDS:g} s")
            await asyncio.sleep(_POLL_SECONDS)
        return f"http://{serves[1]}"

    def death(self) -> ServerNotReady | None:
        """Return what the proxy ended with; None while it runs."""
        code = self._process.returncode
        return None if code is None else self._error(f"kubectl proxy ended with exit code {code}")

    async def death_soon(self) -> ServerNotReady | None:
        """Return what the proxy ended with; after a failed request, its end may be known a moment later only."""
        deadline = time.monotonic() + _END_SECONDS
        while (ended := self.death()) is None and time.monotonic() < deadline:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(_POLL_SECONDS)
        return ended

    async def stop(self) -> None:
        """End it."""
        await self._process.stop()

    def _error(self, what: str) -> ServerNotReady:
        lines = last_lines(self._process.log_text(), _QUOTED_LINES)
        return ServerNotReady(
            "kubectl_proxy_ended",
            what,
            why="; ".join(lines) or "it said nothing; somebody may have ended it",
            fix=f"try `kubectl proxy --port=0` by hand; its log: {self._process.log}",
        )


async def insist_on_kubectl(target: KubernetesService) -> None:
    """Raise BadInput if there is no kubectl, or it has no context to go by."""
    if shutil.which("kubectl") is None:
        raise BadInput(
            "kubectl_missing",
            "there is no kubectl on the PATH",
            why="whichbits reaches a cluster through it, so that your own rights apply",
            fix="install kubectl and try `kubectl get service` with it",
        )
    if target.context is None and inside_cluster():
        return  # kubectl then takes the pod's own service account
    asked = ["current-context"] if target.context is None else ["get-contexts", "--output=name", target.context]
    try:
        answer = await asyncio.to_thread(_config, asked)
    except subprocess.TimeoutExpired:
        raise _silent() from None
    if answer.returncode != 0:
        raise BadInput(
            "kubectl_no_context",
            f"kubectl has no context {target.context!r}" if target.context else "kubectl has no current context",
            why="; ".join(last_lines(answer.stderr, _QUOTED_LINES)) or "its configuration names no such cluster",
            fix="choose one of `kubectl config get-contexts`: as target.kubernetes.context, or with use-context",
        )


def _config(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = ["kubectl", "config", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_CONFIG_SECONDS)


def _silent() -> BadInput:
    return BadInput(
        "kubectl_silent",
        f"`kubectl config` gave no answer within {_CONFIG_SECONDS:.0f} s",
        why="it reads files only: one lies where a file system does not answer, or kubectl is a wrapper that waits",
        fix="run `kubectl config current-context` by itself, and see KUBECONFIG",
    )


def _command(target: KubernetesService) -> tuple[str, ...]:
    context = () if target.context is None else (f"--context={target.context}",)
    return (
        "kubectl",
        "proxy",
        "--address=127.0.0.1",
        "--port=0",
        f"--accept-paths={','.join(_paths(target))}",
        "--reject-methods=^(PUT|PATCH|DELETE)$",
        *context,
    )


def _paths(target: KubernetesService) -> tuple[str, ...]:
    """Return what may be asked: whoever else is on this machine shares the user's rights only so far."""
    namespace, service = re.escape(target.namespace), re.escape(target.service)
    core = f"^/api/v1/namespaces/{namespace}"
    return (
        f"^/apis/discovery\\.k8s\\.io/v1/namespaces/{namespace}/endpointslices$",
        f"{core}/services/{service}$",
        f"{core}/pods$",
        f"{core}/pods/[^/]+/log$",
        f"{core}/pods/[^/]+/proxy/",
    )
