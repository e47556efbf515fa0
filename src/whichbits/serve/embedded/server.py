"""The HTTP face of the embedded engine: routes in, one event a step out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from whichbits.serve.embedded.client import EngineClient, EngineDied
from whichbits.serve.embedded.messages import Output
from whichbits.serve.embedded.metrics import EngineMetrics
from whichbits.serve.embedded.openai_api import (
    AnswerShape,
    Bounds,
    ChatRequest,
    CompletionRequest,
    Kind,
    Piece,
    Question,
    Refused,
    error_object,
    prompt_of,
    question,
)
from whichbits.serve.embedded.text import TextModel
from whichbits.serve.embedded.weights.vocabulary import Detokenizer

_encode = msgspec.json.Encoder().encode
_JSON = "application/json"
_LONGEST_BODY = 64 * 2**20


class Server:
    """Answers OpenAI-style requests from one engine."""

    def __init__(self, client: EngineClient, metrics: EngineMetrics, text: TextModel, model: str) -> None:
        """Serve ``client``'s engine under the name ``model``."""
        self._client = client
        self._metrics = metrics
        self._text = text
        self._model = model

    def application(self) -> web.Application:
        """Return the web application with every route."""
        application = web.Application(client_max_size=_LONGEST_BODY, middlewares=[_openai_errors])
        application.add_routes(
            [
                web.post("/v1/completions", self._completions),
                web.post("/v1/chat/completions", self._chat),
                web.get("/v1/models", self._models),
                web.post("/tokenize", self._tokenize),
                web.post("/detokenize", self._detokenize),
                web.get("/health", self._health),
                web.get("/metrics", self._scrape),
                web.get("/version", self._version),
                web.post("/reset_prefix_cache", self._reset_prefix_cache),
            ]
        )
        return application

    @property
    def _bounds(self) -> Bounds:
        if self._client.ready is None:
            raise EngineDied(self._client.death.result() if self._client.death.done() else "the engine is loading")
        capacity = self._client.ready.kv_cache_tokens
        return Bounds(self._model, self._text.vocabulary, self._text.max_model_len, capacity)

    async def _completions(self, http: web.Request) -> web.StreamResponse:
        request = _decoded(await http.read(), CompletionRequest)
        prompt = prompt_of(request)
        ids = self._text.encode(prompt) if isinstance(prompt, str) else prompt
        return await self._answer(http, question("text_completion", request, ids, self._bounds))

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        request = _decoded(await http.read(), ChatRequest)
        turns = [{"role": message.role, "content": message.content} for message in request.messages]
        kind: Kind = "chat.completion"
        return await self._answer(http, question(kind, request, self._text.encode_chat(turns), self._bounds))

    async def _answer(self, http: web.Request, asked: Question) -> web.StreamResponse:
        if asked.stream:
            return await self._streamed(http, asked)
        piece, generated = await self._whole(asked)
        return _json(AnswerShape(asked).whole(piece, generated))

    async def _whole(self, asked: Question) -> tuple[Piece, int]:
        pieces, generated = [], 0
        async for piece, tokens in self._pieces(asked):
            pieces.append(piece)
            generated = tokens
        logprobs = tuple(value for piece in pieces for value in piece.logprobs or ())
        whole = Piece(
            "".join(piece.text for piece in pieces),
            tuple(token for piece in pieces for token in piece.tokens),
            logprobs if asked.sampling.logprobs else None,
            pieces[-1].finish_reason,
        )
        return whole, generated

    async def _streamed(self, http: web.Request, asked: Question) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        shape = AnswerShape(asked)
        pieces = self._pieces(asked)
        try:
            await response.prepare(http)
            for event in shape.opening():
                await response.write(_sse(event))
            generated = 0
            async for piece, generated in pieces:
                await response.write(_sse(shape.event(piece, generated)))
            for event in shape.closing(generated):
                await response.write(_sse(event))
        except EngineDied as death:
            await response.write(_sse(error_object(str(death), kind="server_error", code=500)))
        finally:
            # A client that went away leaves the stream early; closing it cancels the request in the engine.
            await pieces.aclose()
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _pieces(self, asked: Question) -> AsyncIterator[tuple[Piece, int]]:
        """Yield what each step adds, and the number of tokens so far."""
        detokenizer = Detokenizer(self._text.vocabulary)
        generated = 0
        outputs = self._client.generate(asked.prompt, asked.sampling)
        try:
            async for output in outputs:
                if output.error is not None:
                    raise EngineDied(output.error)
                generated += len(output.tokens)
                yield self._piece(asked, output, detokenizer), generated
        finally:
            await outputs.aclose()

    def _piece(self, asked: Question, output: Output, detokenizer: Detokenizer) -> Piece:
        text = detokenizer.push(output.tokens, last=output.finish_reason is not None)
        if not asked.sampling.logprobs:
            return Piece(text, (), None, output.finish_reason)
        tokens = tuple(self._text.vocabulary.text([token]) for token in output.tokens)
        return Piece(text, tokens, tuple(output.logprobs or ()), output.finish_reason)

    async def _models(self, _http: web.Request) -> web.Response:
        bounds = self._bounds
        card = {"id": self._model, "object": "model", "owned_by": "whichbits", "max_model_len": bounds.max_model_len}
        return _json({"object": "list", "data": [card]})

    async def _tokenize(self, http: web.Request) -> web.Response:
        asked = _decoded(await http.read(), dict[str, Any])
        if not isinstance(asked.get("prompt"), str):
            raise Refused("prompt: give a text")
        tokens = self._text.encode(asked["prompt"])
        return _json({"count": len(tokens), "max_model_len": self._text.max_model_len, "tokens": tokens})

    async def _detokenize(self, http: web.Request) -> web.Response:
        tokens = _decoded(await http.read(), dict[str, list[int]]).get("tokens", [])
        if not all(0 <= token < len(self._text.vocabulary) for token in tokens):
            raise Refused(f"tokens: ids must lie in 0 to {len(self._text.vocabulary) - 1}")
        return _json({"prompt": self._text.vocabulary.text(tokens)})

    async def _health(self, _http: web.Request) -> web.Response:
        if self._client.death.done():
            return _json(error_object(self._client.death.result(), kind="server_error", code=500), status=500)
        if self._client.ready is None:
            return _json(error_object("the engine is loading", kind="server_error", code=503), status=503)
        return web.Response()

    async def _scrape(self, _http: web.Request) -> web.Response:
        return web.Response(body=self._metrics.exposition(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _version(self, _http: web.Request) -> web.Response:
        from openvino_genai import __version__

        return _json({"version": __version__})

    async def _reset_prefix_cache(self, _http: web.Request) -> web.Response:
        done = await self._client.reset_prefix_cache()
        return _json({"success": done.success, "reason": done.reason})


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def _openai_errors(http: web.Request, handler: Handler) -> web.StreamResponse:
    """Say every refusal in OpenAI's shape."""
    try:
        return await handler(http)
    except Refused as refused:
        return _json(error_object(str(refused)), status=400)
    except EngineDied as death:
        return _json(error_object(str(death), kind="server_error", code=500), status=500)
    except web.HTTPException as plain:
        return _json(error_object(plain.reason, code=plain.status), status=plain.status)


def _decoded(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise Refused(str(error)) from None
    except UnicodeDecodeError as error:
        raise Refused(f"the body is not UTF-8: {error}") from None


def _json(content: Any, *, status: int = 200) -> web.Response:
    return web.Response(body=_encode(content), status=status, content_type=_JSON)


def _sse(event: dict[str, Any]) -> bytes:
    return b"data: " + _encode(event) + b"\n\n"


async def serve(application: web.Application, host: str, port: int, until: "asyncio.Future[Any]") -> None:
    """Listen on ``host`` and ``port`` until ``until`` is done."""
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        await until
    finally:
        await runner.cleanup()
