"""Requests and answers in OpenAI's shapes, with vLLM's additions: what is asked is checked here, once."""

import time
import uuid
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from whichbits.serve.embedded.messages import FinishReason, Sampling
from whichbits.serve.embedded.weights.vocabulary import Vocabulary

_DEFAULT_MAX_TOKENS = 16  # OpenAI's for /v1/completions
Kind = Literal["text_completion", "chat.completion"]


class Refused(Exception):  # noqa: N818 - an answer to the client, not a fault of ours
    """A request that cannot be served as asked; the message is the client's."""


class StreamOptions(msgspec.Struct, frozen=True):
    """When a stream says what it used."""

    include_usage: bool = False
    continuous_usage_stats: bool = False


class _Common(msgspec.Struct, frozen=True, kw_only=True):
    model: str | None = None
    max_tokens: int | None = None
    min_tokens: int = 0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    ignore_eos: bool = False
    stop_token_ids: tuple[int, ...] = ()
    n: int = 1
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None


class CompletionRequest(_Common, frozen=True, kw_only=True):
    """POST /v1/completions; ``prompt`` is a text, token ids, or a list of one of them."""

    prompt: str | list[int] | list[str] | list[list[int]]
    logprobs: int | None = None
    echo: bool = False


class Message(msgspec.Struct, frozen=True):
    """One turn of a conversation."""

    role: str
    content: str


class ChatRequest(_Common, frozen=True, kw_only=True):
    """POST /v1/chat/completions."""

    messages: list[Message]
    max_completion_tokens: int | None = None
    logprobs: bool = False


@dataclass(frozen=True)
class Question:
    """A checked request: what to compute and how to answer."""

    kind: Kind
    model: str
    prompt: list[int]
    sampling: Sampling
    stream: bool
    usage_at_end: bool
    usage_always: bool


@dataclass(frozen=True)
class Bounds:
    """What a request must fit."""

    model: str
    vocabulary: Vocabulary
    max_model_len: int
    kv_cache_tokens: int


def question(kind: Kind, request: CompletionRequest | ChatRequest, prompt: list[int], bounds: Bounds) -> Question:
    """Check a request against the model's bounds.

    Raises:
        Refused: with a message that names the parameter.
    """
    _check_supported(request, bounds)
    max_tokens = _max_tokens(request, prompt, bounds)
    options = request.stream_options or StreamOptions()
    logprobs = bool(request.logprobs) or request.logprobs == 0 and request.logprobs is not False
    return Question(
        kind=kind,
        model=bounds.model,
        prompt=prompt,
        sampling=_sampling(request, max_tokens, logprobs=logprobs),
        stream=request.stream,
        usage_at_end=options.include_usage,
        usage_always=options.include_usage and options.continuous_usage_stats,
    )


def prompt_of(request: CompletionRequest) -> str | list[int]:
    """Return the one prompt of a request, a text or token ids."""
    prompt = request.prompt
    if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int):
        if len(prompt) > 1:
            raise Refused("prompt: one prompt a request; send several requests instead")
        prompt = prompt[0]
    if not isinstance(prompt, str):
        return [int(token) for token in prompt if isinstance(token, int)]
    return prompt


def _check_supported(request: CompletionRequest | ChatRequest, bounds: Bounds) -> None:
    if request.model not in (None, bounds.model):
        raise Refused(f"model: there is no '{request.model}' here; this server has '{bounds.model}'")
    if request.n != 1:
        raise Refused("n: one answer a request")
    if request.stop:
        raise Refused("stop: only stop_token_ids are supported")
    if getattr(request, "echo", False):
        raise Refused("echo: not supported")
    if request.temperature < 0:
        raise Refused(f"temperature: must be 0 or more, not {request.temperature}")
    if not 0 < request.top_p <= 1:
        raise Refused(f"top_p: must lie above 0 and not above 1, not {request.top_p}")


def _max_tokens(request: CompletionRequest | ChatRequest, prompt: list[int], bounds: Bounds) -> int:
    if not prompt:
        raise Refused("prompt: it is empty")
    if not all(0 <= token < len(bounds.vocabulary) for token in prompt):
        raise Refused(f"prompt: token ids must lie in 0 to {len(bounds.vocabulary) - 1}")
    longest = min(bounds.max_model_len, bounds.kv_cache_tokens)
    asked = request.max_tokens
    if asked is None and isinstance(request, ChatRequest):
        asked = request.max_completion_tokens or longest - len(prompt)
    asked = _DEFAULT_MAX_TOKENS if asked is None else asked
    if asked < 1:
        raise Refused(f"max_tokens: must be 1 or more, not {asked}")
    if request.min_tokens > asked:
        raise Refused(f"min_tokens: {request.min_tokens} is more than max_tokens, {asked}")
    if len(prompt) + asked > longest:
        raise Refused(f"max_tokens: {len(prompt)} prompt tokens and {asked} more exceed this model's {longest}")
    return asked


def _sampling(request: CompletionRequest | ChatRequest, max_tokens: int, *, logprobs: bool) -> Sampling:
    return Sampling(
        max_tokens=max_tokens,
        min_tokens=request.min_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
        repetition_penalty=request.repetition_penalty,
        presence_penalty=request.presence_penalty,
        frequency_penalty=request.frequency_penalty,
        seed=request.seed,
        ignore_eos=request.ignore_eos,
        stop_token_ids=request.stop_token_ids,
        logprobs=logprobs,
    )


@dataclass(frozen=True)
class Piece:
    """What is new in an answer: its text, and its tokens with their log-probabilities if asked for."""

    text: str
    tokens: tuple[str, ...]
    logprobs: tuple[float, ...] | None
    finish_reason: FinishReason | None


class AnswerShape:
    """The JSON of one answer, whole or as events, for completions and for chats."""

    def __init__(self, asked: Question) -> None:
        """Fix what every event of the answer repeats."""
        self._asked = asked
        prefix = "chatcmpl" if asked.kind == "chat.completion" else "cmpl"
        self._head = {"id": f"{prefix}-{uuid.uuid4().hex}", "created": int(time.time()), "model": asked.model}

    def opening(self) -> list[dict[str, Any]]:
        """Return the events before any token: a chat starts with its role."""
        if self._asked.kind != "chat.completion":
            return []
        return [self._event([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])]

    def event(self, piece: Piece, generated: int) -> dict[str, Any]:
        """Return the event of one piece; ``generated`` counts the answer's tokens up to now."""
        event = self._event([self._choice(piece, "delta")])
        if self._asked.usage_always:
            event["usage"] = self.usage(generated)
        return event

    def closing(self, generated: int) -> list[dict[str, Any]]:
        """Return the events after the last token, before [DONE]."""
        return [self._event([]) | {"usage": self.usage(generated)}] if self._asked.usage_at_end else []

    def whole(self, piece: Piece, generated: int) -> dict[str, Any]:
        """Return an answer that was not streamed."""
        head = self._head | {"object": self._asked.kind}
        return head | {"choices": [self._choice(piece, "message")], "usage": self.usage(generated)}

    def usage(self, generated: int) -> dict[str, int]:
        """Return the token counts; cached tokens are left out, because the pipeline does not tell them."""
        prompt = len(self._asked.prompt)
        return {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": prompt + generated}

    def _event(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self._asked.kind == "chat.completion" else self._asked.kind
        return self._head | {"object": kind, "choices": choices}

    def _choice(self, piece: Piece, chat_key: str) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "finish_reason": piece.finish_reason}
        if self._asked.kind == "chat.completion":
            choice[chat_key] = {"content": piece.text} | ({"role": "assistant"} if chat_key == "message" else {})
        else:
            choice["text"] = piece.text
        if piece.logprobs is not None:
            choice["logprobs"] = self._logprobs(piece)
        return choice

    def _logprobs(self, piece: Piece) -> dict[str, Any]:
        values = piece.logprobs or ()
        if self._asked.kind == "chat.completion":
            pairs = zip(piece.tokens, values, strict=True)
            return {"content": [{"token": token, "logprob": value, "top_logprobs": []} for token, value in pairs]}
        return {"tokens": list(piece.tokens), "token_logprobs": list(values)}


def error_object(message: str, *, kind: str = "invalid_request_error", code: int = 400) -> dict[str, Any]:
    """Return an error in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
