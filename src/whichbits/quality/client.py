"""A plain HTTP client for questions whose timing does not matter: no retries, a bound on what is in flight."""

import asyncio
import json
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from whichbits.serve.endpoint.replica import Endpoint

if TYPE_CHECKING:
    from aiohttp import ClientSession

_SECONDS = 600.0
_LONGEST_COMPLAINT = 200


class Refused(Exception):  # noqa: N818 - what a server does
    """The server did not give what was asked for; the text says why."""

    def __init__(self, status: int | None, reason: str) -> None:
        """Keep the status, None if there was no answer at all."""
        super().__init__(reason)
        self.status = status


class Client:
    """Asks one endpoint; use as an async context manager."""

    def __init__(self, endpoint: Endpoint, at_once: int) -> None:
        """Connect lazily."""
        self.model = endpoint.model
        scheme = "https" if endpoint.tls else "http"
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        self._server = f"{scheme}://{host}:{endpoint.port}"
        self._completions = endpoint.path
        self._headers = {} if endpoint.api_key is None else {"Authorization": f"Bearer {endpoint.api_key}"}
        self._way = endpoint.way
        self._slots = asyncio.Semaphore(at_once)
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the session."""
        from aiohttp import ClientTimeout

        self._session = self._way.session(headers=self._headers, timeout=ClientTimeout(total=_SECONDS))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if self._session is not None:
            await self._session.close()

    async def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the one choice that the completions API answers with.

        Raises:
            Refused: there was none.
        """
        answer = await self.post(self._completions, {"model": self.model, **body})
        match answer:
            case {"choices": [dict() as choice]}:
                return choice
            case _:
                raise Refused(HTTPStatus.OK, f"an answer without its one choice: {_short(json.dumps(answer))}")

    async def beside(self, path: str, body: dict[str, Any]) -> Any:
        """POST to a path of the same service beside its /v1, such as /tokenize. Raises Refused."""
        root = self._completions.removesuffix("/v1/completions")
        return await self.post(root + path, body)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return what the server answers as JSON. Raises Refused."""
        from aiohttp import ClientError

        if self._session is None:
            raise Refused(None, "the client is closed")
        async with self._slots:
            try:
                async with self._session.post(self._server + path, json=body) as answer:
                    return _read(answer.status, await answer.text(errors="replace"))
            except (ClientError, TimeoutError, OSError) as error:
                raise Refused(None, f"{self._server}{path}: {str(error) or type(error).__name__}") from error


def _read(status: int, text: str) -> Any:
    if status != HTTPStatus.OK:
        raise Refused(status, f"HTTP {status}: {_short(text)}")
    try:
        # A log-probability of minus infinity is written as -Infinity by some servers: Python reads it.
        return json.loads(text)
    except ValueError as error:
        raise Refused(status, f"no JSON: {_short(text)}") from error


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_COMPLAINT else line[: _LONGEST_COMPLAINT - 2] + " …"
