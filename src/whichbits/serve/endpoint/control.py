"""One replica's control endpoints: scrape its metrics, reset its cache, ask what it serves."""

import json
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self

from whichbits.errors import ServerNotReady
from whichbits.serve.endpoint.way import DIRECT, Way
from whichbits.serve.secrets import STARS
from whichbits.study.address import without_credentials

if TYPE_CHECKING:
    from aiohttp import ClientSession

_NOT_THERE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED})
_SGLANG_FLUSHED = "Cache flushed"
_DEV_MODE_HINT = "vLLM offers it only with VLLM_SERVER_DEV_MODE=1 in the server's environment"


@dataclass(frozen=True)
class Scrape:
    """Raw /metrics text; ``time_ns`` is ``time.monotonic_ns()`` when the answer began to arrive."""

    text: str
    time_ns: int


@dataclass(frozen=True)
class ResetAnswer:
    """What the server said to a cache reset; ``succeeded`` is None where it did not say (an empty 200)."""

    succeeded: bool | None
    body: str
    status: int
    hint: str | None = None


@dataclass(frozen=True)
class _Answer:
    status: int
    body: str
    time_ns: int


class ControlClient:
    """Talks to ``url`` (no trailing slash). Methods raise ServerNotReady if the server cannot be reached."""

    def __init__(
        self, url: str, *, api_key: str | None = None, timeout_seconds: float = 10.0, way: Way = DIRECT
    ) -> None:
        """Connect lazily; use as an async context manager, or call ``close``."""
        self.url = url
        self._way = way
        self._api_key = api_key
        self._headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._timeout_seconds = timeout_seconds
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Drop the connection; a later call opens a new one."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def scrape(self) -> Scrape:
        """Fetch /metrics as it is."""
        answer = await self._ask_for("GET", "/metrics")
        return Scrape(answer.body, answer.time_ns)

    async def has_metrics(self) -> bool:
        """Return whether /metrics is there at all: hosted services and some engines have none."""
        return (await self._ask("GET", "/metrics")).status == HTTPStatus.OK

    async def json(self, path: str) -> Any:
        """Return what ``path`` answers as JSON; None if it is not there, or is no JSON."""
        answer = await self._ask("GET", path)
        try:
            return json.loads(answer.body) if answer.status == HTTPStatus.OK else None
        except ValueError:
            return None

    async def reset_prefix_cache(self, path: str = "/reset_prefix_cache") -> ResetAnswer:
        """Ask for an empty prefix cache; believe only an answer that says so."""
        answer = await self._ask("POST", path)
        return read_reset_answer(answer.status, answer.body)

    async def command(self, path: str) -> None:
        """POST nothing to ``path``, and insist on 200."""
        await self._ask_for("POST", path)

    async def post(self, path: str) -> int:
        """Send an empty POST and return the status of its answer."""
        return (await self._ask("POST", path)).status

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models it serves."""
        answer = await self._ask_for("GET", "/v1/models")
        match self._read(answer, "data"):
            case [*cards] if all(isinstance(card, dict) and "id" in card for card in cards):
                return tuple(str(card["id"]) for card in cards)
            case _:
                raise self._unusable("data", answer.body[:200])

    async def tokenize(self, text: str) -> tuple[int, ...]:
        """Return the token ids of ``text`` in the served model's vocabulary."""
        answer = await self._ask_for("POST", "/tokenize", {"prompt": text})
        match self._read(answer, "tokens"):
            case [*tokens] if all(isinstance(token, int) for token in tokens):
                return tuple(tokens)
            case _:
                raise self._unusable("tokens", answer.body[:200])

    async def token_count(self, text: str, model: str) -> int | None:
        """Return how many tokens ``text`` has, without special ones; None if /tokenize is not there.

        The body has the names that vLLM, SGLang, TGI and llama.cpp give a text; each ignores the others'.
        """
        asked = {
            "model": model,
            "prompt": text,
            "inputs": text,
            "content": text,
            "add_special_tokens": False,
            "add_special": False,
        }
        answer = await self._ask("POST", "/tokenize", asked)
        return _tokens_counted(answer.body) if answer.status == HTTPStatus.OK else None

    async def version(self) -> str:
        """Return the engine's version."""
        return str(self._read(await self._ask_for("GET", "/version"), "version"))

    async def _ask_for(self, method: str, path: str, body: dict[str, Any] | None = None) -> _Answer:
        """Ask, and insist on 200."""
        answer = await self._ask(method, path, body)
        if answer.status != HTTPStatus.OK:
            raise self._unusable(path, f"HTTP {answer.status}: {answer.body[:200]}")
        return answer

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> _Answer:
        from aiohttp import ClientError, ClientTimeout

        if self._session is None:
            timeout = ClientTimeout(total=self._timeout_seconds)
            self._session = self._way.session(timeout=timeout, headers=self._headers)
        try:
            async with self._session.request(method, self.url + path, json=body) as answer:
                time_ns = time.monotonic_ns()
                return _Answer(answer.status, self._without_key(await answer.text(errors="replace")), time_ns)
        except (ClientError, TimeoutError) as error:
            raise self._unreachable(path, error) from error

    def _without_key(self, text: str) -> str:
        """Servers quote the key that they refuse, and what they say may be written down."""
        return text.replace(self._api_key, STARS) if self._api_key else text

    def _read(self, answer: _Answer, key: str) -> Any:
        try:
            return json.loads(answer.body)[key]
        except (ValueError, KeyError, TypeError) as error:
            raise self._unusable(key, answer.body[:200]) from error

    def _unreachable(self, path: str, error: Exception) -> ServerNotReady:
        return ServerNotReady(
            "server_unreachable",
            f"{self.url}{path} did not answer: {without_credentials(str(error)) or type(error).__name__}",
            why="the server ended, hangs, or listens elsewhere",
            fix="read the server's log in the run's logs/ folder",
        )

    def _unusable(self, what: str, answer: str) -> ServerNotReady:
        return ServerNotReady(
            "unexpected_answer",
            f"{self.url} gave no usable answer for {what}: {answer}",
            why="the endpoint is switched off, or the server is another engine or version than the arm says",
            fix="check the arm's engine and options",
        )


def read_reset_answer(status: int, body: str) -> ResetAnswer:
    """Judge an answer to the POST that empties a cache.

    vLLM before 0.32 sends an empty 200 even if the reset failed; later ones send {"success": true | false}. SGLang's
    200 says "Cache flushed.", and it refuses with 400 while requests run.
    """
    if status in _NOT_THERE:
        return ResetAnswer(False, body, status, _DEV_MODE_HINT)
    if status != HTTPStatus.OK:
        return ResetAnswer(False, body, status)
    return ResetAnswer(True if body.startswith(_SGLANG_FLUSHED) else _success(body), body, status)


def _tokens_counted(body: str) -> int | None:
    try:
        said = json.loads(body)
    except ValueError:
        return None
    tokens = said.get("tokens") if isinstance(said, dict) else said
    return len(tokens) if isinstance(tokens, list) else None


def _success(body: str) -> bool | None:
    try:
        said = json.loads(body)
    except ValueError:
        return None
    success = said.get("success") if isinstance(said, dict) else None
    return success if isinstance(success, bool) else None
