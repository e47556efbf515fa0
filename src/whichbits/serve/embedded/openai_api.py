"""The OpenAI API as far as this engine can honour it: requests parsed strictly, answers in vLLM's shapes.

What the engine cannot do is refused, never ignored: an ignored parameter would be a wrong measurement.
"""

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from whichbits.language.amounts import amount
from whichbits.serve.embedded.messages import Sampling

Body = TypeVar("Body")
Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(gt=0, le=1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]


class BadRequest(Exception):  # noqa: N818 - the HTTP word
    """A request that is refused with 400; ``parameter`` names the culprit if one does."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class StreamOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which chunks carry usage: an extra last one, or every one."""

    include_usage: bool = False
    continuous_usage_stats: bool = False


class Generation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What both kinds of request share."""

    model: str | None = None
    max_tokens: Positive | None = None
    min_tokens: NotNegative = 0
    temperature: Annotated[float, Meta(ge=0, le=10)] = 1.0
    top_p: Probability = 1.0
    top_k: Annotated[int, Meta(ge=-1)] = -1
    repetition_penalty: Annotated[float, Meta(gt=0)] = 1.0
    presence_penalty: Penalty = 0.0
    frequency_penalty: Penalty = 0.0
    seed: NotNegative | None = None
    ignore_eos: bool = False
    stop_token_ids: tuple[NotNegative, ...] = ()
    n: Literal[1] = 1
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    return_token_ids: bool = False
    user: str | None = None

    def sampling(self, room: int, default_tokens: int, *, logprobs: bool) -> Sampling:
        """Return how to draw, given ``room`` tokens left in the context.

        Raises:
            BadRequest: if the answer would not fit.
        """
        max_tokens = self.max_tokens or min(default_tokens, room)
        if max_tokens > room:
            raise BadRequest(
                f"max_tokens {max_tokens} is more than what is left: {amount(max(room, 0), 'token')}", "max_tokens"
            )
        if self.min_tokens > max_tokens:
            raise BadRequest(f"min_tokens {self.min_tokens} is more than max_tokens {max_tokens}", "min_tokens")
        shared = {name: getattr(self, name) for name in Sampling.__struct_fields__ if name in _SHARED}
        return Sampling(max_tokens=max_tokens, logprobs=logprobs, **shared)


_SHARED = frozenset(Sampling.__struct_fields__) & frozenset(Generation.__struct_fields__) - {"max_tokens"}


class CompletionRequest(Generation, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A body of /v1/completions; ``logprobs`` gives the chosen token's, so 0 and 1 mean the same.

    With ``echo`` the prompt's tokens come first, each with its own log-probability; null where it was not computed.
    """

    prompt: str | list[int | str | list[int]]
    logprobs: Literal[0, 1] | None = None
    add_special_tokens: bool = True
    echo: bool = False

    def __post_init__(self) -> None:
        """Refuse an echo in pieces; msgspec makes the ValueError one of a wrong body."""
        if self.echo and self.stream:
            message = "echo is given with whole answers only: leave stream out"
            raise ValueError(message)


class ChatMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of a conversation, in text."""

    role: Literal["system", "user", "assistant"]
    content: str
    name: str | None = None


class ChatRequest(Generation, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A body of /v1/chat/completions."""

    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    max_completion_tokens: Positive | None = None
    logprobs: bool = False
    top_logprobs: Literal[0, 1] = 0
    add_generation_prompt: bool = True


class TokenizeRequest(msgspec.Struct, frozen=True):
    """A body of /tokenize: a prompt, or messages."""

    prompt: str | None = None
    messages: list[ChatMessage] | None = None
    model: str | None = None
    add_special_tokens: bool = True
    add_generation_prompt: bool = True


class DetokenizeRequest(msgspec.Struct, frozen=True):
    """A body of /detokenize."""

    tokens: list[NotNegative]
    model: str | None = None


class Piece(NamedTuple):
    """What one step added to an answer, ready to be shown."""

    text: str
    tokens: list[int]
    token_texts: list[str]
    logprobs: Sequence[float | None] | None
    finish_reason: str | None
    prompt_logprobs: list[float | None] | None = None


def parse(body: bytes, kind: type[Body]) -> Body:
    """Read a body.

    Raises:
        BadRequest: if it is not JSON, or something in it is unknown, misshapen or beyond this engine.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(str(error)) from error


def single_prompt(prompt: str | list[int | str | list[int]]) -> str | list[int]:
    """Return the one prompt of a request that may wrap it in a list.

    Raises:
        BadRequest: if there are several, or ids and texts are mixed.
    """
    if isinstance(prompt, str):
        return prompt
    ids = [item for item in prompt if isinstance(item, int)]
    if len(ids) == len(prompt):
        return ids
    if ids or len(prompt) > 1:
        raise BadRequest("one request takes one prompt: a text, or a list of token ids", "prompt")
    only = prompt[0]
    return only if not isinstance(only, int) else ids


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    """Return a usage object; how much of the prompt came from the cache is not known, so it is not said."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": None,
    }


def error_object(message: str, kind: str, code: int, parameter: str | None = None) -> dict[str, Any]:
    """Return an error as the OpenAI API shapes it."""
    return {"error": {"message": message, "type": kind, "param": parameter, "code": code}}


class CompletionShape:
    """How /v1/completions shows an answer."""

    stream_object = answer_object = "text_completion"

    def opening(self) -> dict[str, Any] | None:
        return None

    def choice(self, piece: Piece, *, streamed: bool) -> dict[str, Any]:  # noqa: ARG002 - chat differs there
        return {
            "index": 0,
            "text": piece.text,
            "logprobs": self._logprobs(piece),
            "finish_reason": piece.finish_reason,
        }

    def _logprobs(self, piece: Piece) -> dict[str, Any] | None:
        if piece.logprobs is None:
            return None
        return {"tokens": piece.token_texts, "token_logprobs": piece.logprobs, "top_logprobs": None}


class ChatShape:
    """How /v1/chat/completions shows an answer."""

    stream_object, answer_object = "chat.completion.chunk", "chat.completion"

    def opening(self) -> dict[str, Any] | None:
        return {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": None,
            "finish_reason": None,
        }

    def choice(self, piece: Piece, *, streamed: bool) -> dict[str, Any]:
        content = {"content": piece.text} if streamed else {"role": "assistant", "content": piece.text}
        return {
            "index": 0,
            "delta" if streamed else "message": content,
            "logprobs": self._logprobs(piece),
            "finish_reason": piece.finish_reason,
        }

    def _logprobs(self, piece: Piece) -> dict[str, Any] | None:
        if piece.logprobs is None:
            return None
        pairs = zip(piece.token_texts, piece.logprobs, strict=True)
        return {"content": [{"token": token, "logprob": logprob, "top_logprobs": []} for token, logprob in pairs]}


def envelope(kind: str, identity: str, model: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what surrounds the choices of an answer or a chunk."""
    return {"id": identity, "object": kind, "created": int(time.time()), "model": model, "choices": choices}
