"""A double of a cluster's API for one Service, which the real kubectl talks to; and a kubeconfig that leads to it.

Objects have the shape that an API server gives them (null for empty lists, camel case, Status on failure). It runs
in a thread of its own; tests change its pods while it answers.
"""

import asyncio
import json
import shutil
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, ClientSession, web

from tests.drive.fake_server import all_begun

NAMESPACE = "serving"
SERVICE = "vllm-qwen3-14b"
SELECTOR = {"app": "vllm", "model": "qwen3-14b"}
METRICS = "vllm:num_requests_running 3.0\n"


@dataclass
class FakePod:
    """One pod; ``backend`` is the address of a server that answers for it, if more than /metrics is asked."""

    name: str
    ready: bool = True
    uid: str = ""
    image: str = "docker.io/vllm/vllm-openai:v0.11.0"
    restarts: int = 0
    log: str = ""
    previous_log: str = ""
    waiting: dict[str, str] | None = None
    terminated: dict[str, Any] | None = None
    unscheduled: str | None = None
    args: tuple[str, ...] = ()
    backend: str | None = None
    host: str = "127.0.0.1"

    def as_object(self) -> dict[str, Any]:
        state = {"waiting": self.waiting} if self.waiting else {"running": {"startedAt": "2026-11-29T14:04:00Z"}}
        scheduled = {"type": "PodScheduled", "status": "False" if self.unscheduled else "True"}
        if self.unscheduled:
            scheduled |= {"reason": "Unschedulable", "message": self.unscheduled}
        return {
            "metadata": {"name": self.name, "uid": self.uid or f"uid-of-{self.name}", "labels": SELECTOR},
            "spec": {
                "nodeName": "a100-002",
                "containers": [
                    {"name": "sidecar", "image": "proxy:1", "resources": {}},
                    {
                        "name": "vllm",
                        "image": self.image,
                        "args": ["--model=Qwen/Qwen3-14B", *self.args],
                        "env": [
                            {"name": "VLLM_SERVER_DEV_MODE", "value": "1"},
                            {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
                        ],
                        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
                        "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "64Gi"}},
                    },
                ],
            },
            "status": {
                "phase": "Running",
                "podIP": "10.1.2.3",
                "hostIP": self.host,
                "conditions": [scheduled],
                "containerStatuses": [
                    {"name": "sidecar", "restartCount": 7, "state": {}, "lastState": {}},
                    {
                        "name": "vllm",
                        "imageID": "docker.io/vllm/vllm-openai@sha256:1234",
                        "restartCount": self.restarts,
                        "state": state,
                        "lastState": {"terminated": self.terminated} if self.terminated else {},
                    },
                ],
            },
        }

    def as_endpoint(self) -> dict[str, Any]:
        return {
            "addresses": ["10.1.2.3"],
            "conditions": {"ready": self.ready},
            "targetRef": {"kind": "Pod", "name": self.name, "namespace": NAMESPACE},
        }


@dataclass
class Cluster:
    """One Service and its pods, as they are now."""

    kubeconfig: Path
    url: str = ""
    pods: list[FakePod] = field(default_factory=list)
    has_service: bool = True
    selector: dict[str, str] | None = field(default_factory=lambda: SELECTOR)
    service_ports: list[dict[str, Any]] = field(
        default_factory=lambda: [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    )
    status: dict[str, Any] = field(default_factory=lambda: {"loadBalancer": {}})
    forbidden: tuple[str, ...] = ()
    """Ends of paths, before any query, that the user may not ask."""
    token: str | None = None
    """What the user must log in with; kubectl sends none without TLS."""
    asked: list[str] = field(default_factory=list)
    authorizations: set[str | None] = field(default_factory=set)
    """What came with any question, from kubectl or whom it let through."""

    def application(self) -> web.Application:

        @web.middleware
        async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
            return await self._guard(request, handler)

        application = web.Application(middlewares=[guard])
        core = f"/api/v1/namespaces/{NAMESPACE}"
        slices = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
        application.router.add_get("/version", self._version)
        application.router.add_get(f"{core}/services/{{name}}", self._service)
        application.router.add_get(slices, self._slices)
        application.router.add_get(f"{core}/pods", self._pods)
        application.router.add_get(f"{core}/pods/{{pod}}/log", self._log)
        application.router.add_route("*", f"{core}/pods/{{pod}}:{{port}}/proxy/{{path:.*}}", self._pass_on)
        return application

    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path}")
        self.authorizations.add(request.headers.get("Authorization"))
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            return _status(401, "Unauthorized")
        if request.path.endswith(self.forbidden or ("\0",)):
            return _status(403, f'User "dev" cannot get path "{request.path}" in the namespace "{NAMESPACE}"')
        try:
            answer: web.StreamResponse = await handler(request)
        except web.HTTPNotFound:
            return _status(404, "the server could not find the requested resource")
        return answer

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"major": "1", "minor": "32", "gitVersion": "v1.32.4"})

    async def _service(self, request: web.Request) -> web.Response:
        if not self.has_service or request.match_info["name"] != SERVICE:
            return _status(404, f'services "{request.match_info["name"]}" not found')
        spec = {"type": "ClusterIP", "clusterIP": "None", "selector": self.selector, "ports": self.service_ports}
        return web.json_response({"kind": "Service", "spec": spec, "status": self.status})

    async def _slices(self, request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == f"kubernetes.io/service-name={SERVICE}"
        slice_of_all = {
            "addressType": "IPv4",
            "endpoints": [pod.as_endpoint() for pod in self.pods if not pod.unscheduled] or None,
            "ports": [{"name": "http", "port": 8000, "protocol": "TCP"}, {"name": "grpc", "port": 9000}],
        }
        return web.json_response({"kind": "EndpointSliceList", "items": [slice_of_all]})

    async def _pods(self, request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == "app=vllm,model=qwen3-14b"
        return web.json_response({"kind": "PodList", "items": [pod.as_object() for pod in self.pods]})

    async def _log(self, request: web.Request) -> web.Response:
        assert request.query["container"] == "vllm"
        pod = self._named(request)
        if pod is None:
            return _status(404, "pods not found")
        return web.Response(text=pod.previous_log if request.query.get("previous") == "true" else pod.log)

    async def _pass_on(self, request: web.Request) -> web.Response:
        pod = self._named(request)
        if pod is None:
            return _status(404, f'pods "{request.match_info["pod"]}" not found')
        assert request.match_info["port"] == "8000", "the pods' own port, not the Service's"
        path = f"/{request.match_info['path']}"
        if pod.backend is not None:
            return await _answer_of(pod.backend + path, request)
        texts = {"/health": "", "/metrics": f"# {pod.name}\n{METRICS}"}
        return web.Response(text=texts[path]) if path in texts else web.json_response({}, status=404)

    def _named(self, request: web.Request) -> FakePod | None:
        return next((pod for pod in self.pods if pod.name == request.match_info["pod"]), None)


async def _answer_of(url: str, request: web.Request) -> web.Response:
    try:
        async with (
            ClientSession() as session,
            session.request(request.method, url, data=await request.read()) as answer,
        ):
            return web.Response(status=answer.status, body=await answer.read())
    except ClientError as error:
        return _status(503, f"error trying to reach service: {error}")


def _status(code: int, message: str) -> web.Response:
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
    return web.json_response(said, status=code)


def skip_without_kubectl() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl: `make kubectl` installs it where apt is there")


@contextmanager
def running_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Serve a cluster with two ready pods, and let kubectl find it; where that is absent, the test is skipped."""
    skip_without_kubectl()
    cluster = Cluster(folder / "kubeconfig", pods=[FakePod("vllm-7w92m"), FakePod("vllm-pm7wp")])
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with serving(cluster.application()) as cluster.url:
        write_kubeconfig(cluster)
        yield cluster


@contextmanager
def serving(application: web.Application, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve ``application`` from a thread, and yield its address."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(application, shutdown_timeout=0)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(_listen(runner, tls), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(all_begun(), loop).result()
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(runner: web.AppRunner, tls: ssl.SSLContext | None) -> str:
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    return f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"


def write_kubeconfig(cluster: Cluster, current: str = "double", **login: Any) -> None:
    """Write a kubeconfig with one context, ``double``; ``login`` may hold its ``authority`` and its ``user``."""
    server = {"server": cluster.url} | ({"certificate-authority": login["authority"]} if login else {})
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": "double", "cluster": server}],
        "users": [{"name": "dev", "user": login.get("user", {})}],
        "contexts": [{"name": "double", "context": {"cluster": "double", "user": "dev"}}],
    }
    cluster.kubeconfig.write_text(json.dumps(config))
