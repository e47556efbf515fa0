"""The few questions that whichbits puts to a cluster, and its refusals in words."""

from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import msgspec

from whichbits.errors import BadInput, ServerNotReady
from whichbits.serve.kubernetes.objects import EndpointSlice, EndpointSlices, PodObject, PodObjects, Service
from whichbits.study.arm import KubernetesService

if TYPE_CHECKING:
    from aiohttp import ClientSession

_TIMEOUT_SECONDS = 30.0
_LONGEST_LOG_BYTES = 32 * 2**20
"""Of each log the first part is kept: there the engine says what it is."""
_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_Kind = TypeVar("_Kind", bound=msgspec.Struct)


class Api:
    """The API behind ``url``, for one Service and its pods."""

    def __init__(self, url: str, target: KubernetesService) -> None:
        """Connect lazily; call ``close``."""
        self._url = url
        self._target = target
        self._core = f"/api/v1/namespaces/{target.namespace}"
        self._session: ClientSession | None = None

    async def close(self) -> None:
        """Drop the connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def service(self) -> Service | None:
        """Return the Service; None if there is none of that name.

        This and every other question raises BadInput if the user may not ask it, and ServerNotReady if the cluster
        does not answer or answers nonsense.
        """
        return await self._object(f"{self._core}/services/{self._target.service}", Service)

    async def slices(self) -> list[EndpointSlice]:
        """Return the Service's slices; their order means nothing."""
        labels = urlencode({"labelSelector": f"kubernetes.io/service-name={self._target.service}"})
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self._target.namespace}/endpointslices?{labels}"
        found = await self._object(path, EndpointSlices)
        return [] if found is None else found.items

    async def pods(self, selector: dict[str, str]) -> list[PodObject]:
        """Return all pods with the labels of ``selector``, ready or not."""
        labels = urlencode({"labelSelector": ",".join(f"{key}={value}" for key, value in selector.items())})
        found = await self._object(f"{self._core}/pods?{labels}", PodObjects)
        return [] if found is None else found.items

    async def log(self, pod: str, container: str, *, previous: bool = False) -> bytes | None:
        """Return the beginning of a container's log, or of its predecessor's; None if there is none (any more)."""
        query = urlencode(
            {"container": container, "limitBytes": _LONGEST_LOG_BYTES, **({"previous": "true"} if previous else {})}
        )
        status, body = await self._get(f"{self._core}/pods/{pod}/log?{query}")
        return body if status == HTTPStatus.OK else None

    def pod_url(self, pod: str, port: int) -> str:
        """Return the prefix under which the API passes requests on to a pod."""
        return f"{self._url}{self._core}/pods/{pod}:{port}/proxy"

    async def insist_on_pod_access(self, pod: str, port: int, path: str) -> None:
        """Ask a pod for ``path``, and raise BadInput if the user may not; what the pod answers does not matter."""
        await self._get(self.pod_url(pod, port).removeprefix(self._url) + path)

    async def _object(self, path: str, kind: type[_Kind]) -> _Kind | None:
        status, body = await self._get(path)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise _silent(path, f"it answers {status}: {_message(body)}")
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            raise _silent(path, f"its answer cannot be read: {error}") from error

    async def _get(self, path: str) -> tuple[int, bytes]:
        """Return status and body; refusals by the API itself are raised."""
        from aiohttp import ClientError, ClientSession, ClientTimeout

        if self._session is None:
            self._session = ClientSession(timeout=ClientTimeout(total=_TIMEOUT_SECONDS))
        try:
            async with self._session.get(self._url + path) as answer:
                status, body = answer.status, await answer.read()
        except (ClientError, TimeoutError) as error:
            raise _silent(path, str(error) or type(error).__name__) from error
        if status in _REFUSED and _is_status(body):
            raise _refused(path, _message(body))
        return status, body


class _Status(msgspec.Struct):
    """How the API explains a failure; a pod behind its proxy answers otherwise."""

    kind: str
    message: str = ""


def _is_status(body: bytes) -> bool:
    try:
        return msgspec.json.decode(body, type=_Status).kind == "Status"
    except msgspec.MsgspecError:
        return False


def _message(body: bytes) -> str:
    if _is_status(body):
        return msgspec.json.decode(body, type=_Status).message
    return body[:200].decode(errors="replace").strip() or "nothing"


def _refused(path: str, message: str) -> BadInput:
    return BadInput(
        "kubernetes_forbidden",
        f"the cluster refuses {path.partition('?')[0]}",
        why=message,
        fix="ask for the Role in docs/kubernetes.md; try `kubectl auth can-i --list`",
    )


def _silent(path: str, why: str) -> ServerNotReady:
    return ServerNotReady(
        "cluster_unreachable",
        f"the cluster does not answer {path.partition('?')[0]}",
        why=why,
        fix="try `kubectl get pods` with the same context; whichbits needs Kubernetes 1.21 or later",
    )
