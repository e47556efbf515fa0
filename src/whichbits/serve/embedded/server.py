"""The HTTP face: routes, and the life of one answer from body to last event."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec
import openvino_genai
from aiohttp import web
from aiohttp.typedefs import Handler

from whichbits import __version__
from whichbits.language.amounts import amount
from whichbits.serve.embedded.client import EngineClient
from whichbits.serve.embedded.messages import Output, Sampling
from whichbits.serve.embedded.metrics import EngineMetrics
from whichbits.serve.embedded.openai_api import (
    BadRequest,
    ChatRequest,
    ChatShape,
    CompletionRequest,
    CompletionShape,
    DetokenizeRequest,
    Generation,
    Piece,
    TokenizeRequest,
    envelope,
    error_object,
    parse,
    single_prompt,
    usage,
)
from whichbits.serve.embedded.tokens import Tokens
from whichbits.serve.embedded.weights.vocabulary import Detokenizer

_COMPLETION_TOKENS = 16  # what the OpenAI API gives a completion that names no max_tokens
_LARGEST_BODY = 64 * 2**20
_encode = msgspec.json.Encoder().encode


class EngineFailure(Exception):  # noqa: N818 - says what it is
    """The engine is not there yet, refuses, or died; told by status or in the stream."""

    def __init__(self, message: str, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Job:
    """One accepted request."""

    request: Generation
    prompt: list[int]
    sampling: Sampling
    shape: CompletionShape | ChatShape
    identity: str


class Server:
    """Handlers over one engine."""

    def __init__(self, name: str, engine: EngineClient, metrics: EngineMetrics) -> None:
        self._name = name
        self._engine = engine
        self._metrics = metrics
        self._opened: Tokens | None = None

    def open(self, tokens: Tokens) -> None:
        """Accept requests from now on."""
        self._opened = tokens

    def application(self) -> web.Application:
        """Return the routes as an aiohttp application."""
        application = web.Application(middlewares=[_errors_as_objects], client_max_size=_LARGEST_BODY)
        application.add_routes(
            [
                web.post("/v1/completions", self.completions),
                web.post("/v1/chat/completions", self.chat),
                web.get("/v1/models", self.models),
                web.post("/tokenize", self.tokenize),
                web.post("/detokenize", self.detokenize),
                web.get("/health", self.health),
                web.get("/metrics", self.metrics),
                web.post("/reset_prefix_cache", self.reset_prefix_cache),
                web.get("/version", self.version),
            ]
        )
        return application

    async def completions(self, http: web.Request) -> web.StreamResponse:
        request = parse(await http.read(), CompletionRequest)
        prompt = single_prompt(request.prompt)
        ids = self._tokens.encode(prompt, special=request.add_special_tokens) if isinstance(prompt, str) else prompt
        sampling = request.sampling(self._room(ids), _COMPLETION_TOKENS, logprobs=request.logprobs is not None)
        sampling = msgspec.structs.replace(sampling, echo=request.echo)
        return await self._answer(http, Job(request, ids, sampling, CompletionShape(), _identity("cmpl")))

    async def chat(self, http: web.Request) -> web.StreamResponse:
        request = parse(await http.read(), ChatRequest)
        ids = self._tokens.encode_chat(request.messages, generation_prompt=request.add_generation_prompt)
        room = self._room(ids)
        if request.max_completion_tokens is not None:
            request = msgspec.structs.replace(request, max_tokens=request.max_completion_tokens)
        sampling = request.sampling(room, room, logprobs=request.logprobs)
        return await self._answer(http, Job(request, ids, sampling, ChatShape(), _identity("chatcmpl")))

    async def models(self, _: web.Request) -> web.Response:
        card = {
            "id": self._name,
            "object": "model",
            "owned_by": "whichbits",
            "max_model_len": self._tokens.longest,
        }
        return _json({"object": "list", "data": [card]})

    async def tokenize(self, http: web.Request) -> web.Response:
        request = parse(await http.read(), TokenizeRequest)
        if request.messages is not None:
            ids = self._tokens.encode_chat(request.messages, generation_prompt=request.add_generation_prompt)
        elif request.prompt is not None:
            ids = self._tokens.encode(request.prompt, special=request.add_special_tokens)
        else:
            raise BadRequest("give a prompt or messages", "prompt")
        return _json({"count": len(ids), "max_model_len": self._tokens.longest, "tokens": ids, "token_strs": None})

    async def detokenize(self, http: web.Request) -> web.Response:
        request = parse(await http.read(), DetokenizeRequest)
        self._tokens.check(request.tokens)
        return _json({"prompt": self._tokens.vocabulary.text(request.tokens)})

    async def health(self, _: web.Request) -> web.Response:
        if self._engine.death.done():
            return web.Response(status=500)
        return web.Response(status=503 if self._opened is None else 200)

    async def metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.exposition(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def reset_prefix_cache(self, _: web.Request) -> web.Response:
        done = await self._engine.reset_prefix_cache()
        return _json({"success": done.success, "reason": done.reason})

    async def version(self, _: web.Request) -> web.Response:
        return _json({"version": __version__, "engine": "openvino-genai", "engine_version": openvino_genai.__version__})

    @property
    def _tokens(self) -> Tokens:
        if self._opened is None:
            raise EngineFailure("the engine is still loading", 503)
        return self._opened

    def _room(self, prompt: list[int]) -> int:
        """Tokens that an answer to this prompt may have; refuses prompts that cannot be served."""
        ready = self._engine.ready
        if ready is None:
            raise EngineFailure("the engine is not there")
        if not prompt:
            raise BadRequest("the prompt is empty", "prompt")
        self._tokens.check(prompt)
        longest = min(self._tokens.longest, ready.kv_cache_tokens)
        if len(prompt) >= longest:
            raise BadRequest(
                f"the prompt has {amount(len(prompt), 'token')}; prompt and answer may have {longest}", "prompt"
            )
        return longest - len(prompt)

    async def _answer(self, http: web.Request, job: Job) -> web.StreamResponse:
        if job.request.model not in (None, self._name):
            return _error(
                404, f"the model {job.request.model!r} is not served here; {self._name!r} is", "NotFoundError"
            )
        return await (self._streamed(http, job) if job.request.stream else self._whole(job))

    async def _whole(self, job: Job) -> web.Response:
        pieces = [piece async for piece in self._pieces(job)]
        together = Piece(
            text="".join(piece.text for piece in pieces),
            tokens=[token for piece in pieces for token in piece.tokens],
            token_texts=[text for piece in pieces for text in piece.token_texts],
            logprobs=[value for piece in pieces for value in piece.logprobs or ()] if job.sampling.logprobs else None,
            finish_reason=pieces[-1].finish_reason,
        )
        shown = self._after_prompt(job, pieces[0].prompt_logprobs, together) if job.sampling.echo else together
        choice = job.shape.choice(shown, streamed=False) | _ids(job, together.tokens)
        body = envelope(job.shape.answer_object, job.identity, self._name, [choice])
        return _json(body | {"usage": usage(len(job.prompt), len(together.tokens))})

    def _after_prompt(self, job: Job, prompt_logprobs: list[float | None] | None, answer: Piece) -> Piece:
        """Return the answer with its prompt before it; ids stay the answer's own."""
        texts = [self._tokens.vocabulary.text([token]) for token in job.prompt]
        before = prompt_logprobs or [None] * len(job.prompt)
        return answer._replace(
            text=self._tokens.vocabulary.text(job.prompt) + answer.text,
            token_texts=[*texts, *answer.token_texts],
            logprobs=None if answer.logprobs is None else [*before, *answer.logprobs],
        )

    async def _streamed(self, http: web.Request, job: Job) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        response.headers["Cache-Control"] = "no-cache"
        await response.prepare(http)
        async with aclosing(self._chunks(job)) as chunks:
            async for chunk in chunks:
                await response.write(b"data: " + chunk + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _chunks(self, job: Job) -> AsyncGenerator[bytes]:
        try:
            async for chunk in self._chunk_objects(job):
                yield _encode(chunk)
        except EngineFailure as failure:
            yield _encode(error_object(str(failure), "InternalServerError", 500))

    async def _chunk_objects(self, job: Job) -> AsyncGenerator[dict[str, Any]]:
        options = job.request.stream_options
        produced = 0

        def chunk(choices: list[dict[str, Any]], *, with_usage: bool) -> dict[str, Any]:
            body = envelope(job.shape.stream_object, job.identity, self._name, choices)
            return body | {"usage": usage(len(job.prompt), produced)} if with_usage else body

        opening = job.shape.opening()
        if opening is not None:
            yield chunk([opening], with_usage=options.continuous_usage_stats)
        async with aclosing(self._pieces(job)) as pieces:
            async for piece in pieces:
                produced += len(piece.tokens)
                choice = job.shape.choice(piece, streamed=True) | _ids(job, piece.tokens)
                yield chunk([choice], with_usage=options.continuous_usage_stats)
        if options.include_usage:
            yield chunk([], with_usage=True)

    async def _pieces(self, job: Job) -> AsyncGenerator[Piece]:
        """One piece a step, also where its token shows no text yet: its time and its usage count.

        Raises:
            EngineFailure: if the engine refuses or dies; what came before has been yielded.
        """
        detokenizer = Detokenizer(self._tokens.vocabulary)
        async with aclosing(self._engine.generate(job.prompt, job.sampling)) as outputs:
            async for output in outputs:
                if output.error is not None:
                    raise EngineFailure(output.error)
                yield self._piece(output, detokenizer, job)

    def _piece(self, output: Output, detokenizer: Detokenizer, job: Job) -> Piece:
        return Piece(
            text=detokenizer.push(output.tokens, last=output.finish_reason is not None),
            tokens=output.tokens,
            token_texts=[self._tokens.vocabulary.text([token]) for token in output.tokens],
            logprobs=output.logprobs if job.sampling.logprobs else None,
            finish_reason=output.finish_reason,
            prompt_logprobs=output.prompt_logprobs,
        )


@web.middleware
async def _errors_as_objects(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except BadRequest as refusal:
        return _error(400, str(refusal), "BadRequestError", refusal.parameter)
    except EngineFailure as failure:
        return _error(failure.status, str(failure), "InternalServerError")
    except web.HTTPException as error:
        return _error(error.status, error.reason, "NotFoundError" if error.status == 404 else "BadRequestError")


def _ids(job: Job, tokens: list[int]) -> dict[str, list[int]]:
    return {"token_ids": tokens} if job.request.return_token_ids else {}


def _identity(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex}"


def _error(status: int, message: str, kind: str, parameter: str | None = None) -> web.Response:
    return _json(error_object(message, kind, status, parameter), status)


def _json(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=_encode(body), status=status, content_type="application/json")
