"""What the HTTP process and the engine process say to each other: msgpack in counted frames.

They are two processes because OpenVINO GenAI holds Python's global lock during a whole step: in one process
no byte would be read or written while the model computes, and every client's clock would show it.
"""

import struct
from typing import Literal

import msgspec

LENGTH = struct.Struct("<I")

FinishReason = Literal["stop", "length", "abort"]


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the pipeline is built. ``threads`` None leaves the choice to OpenVINO."""

    model: str
    dynamic_quantization_group_size: int = 0
    kv_cache_gib: int = 1
    kv_cache_dtype: Literal["f16", "u8"] = "f16"
    max_num_seqs: int = 64
    max_num_batched_tokens: int = 512
    enable_prefix_caching: bool = True
    threads: int | None = None


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How one answer is drawn; the names are those of the OpenAI and vLLM APIs."""

    max_tokens: int
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
    logprobs: bool = False
    echo: bool = False


class Add(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Answer this prompt."""

    sequence: int
    prompt: list[int]
    sampling: Sampling


class Cancel(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Stop this answer and free its blocks."""

    sequence: int


class ResetPrefixCache(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Forget every cached prefix, if nothing runs."""


class Ready(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The pipeline is built and has computed once."""

    kv_cache_tokens: int
    block_tokens: int


class Output(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """What one step added to one answer, or why it was refused; ``logprobs`` are parallel to ``tokens``.

    ``prompt_logprobs`` come once, with the first tokens of an answer that echoes its prompt: one a prompt token, None
    for the first, which nothing precedes, and for those that were not computed, since the prefix cache had them.
    """

    sequence: int
    tokens: list[int]
    logprobs: list[float] | None
    finish_reason: FinishReason | None
    error: str | None = None
    prompt_logprobs: list[float | None] | None = None


class Step(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """One step of the pipeline; ``kv_cache_usage`` is a share of the blocks, as the pipeline counts them."""

    outputs: list[Output]
    scheduled: int
    waiting: int
    kv_cache_usage: float
    seconds: float


class ResetDone(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Whether the prefix cache is empty now, and why not."""

    success: bool
    reason: str


class Died(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The engine cannot go on."""

    cause: str


ToEngine = Add | Cancel | ResetPrefixCache
FromEngine = Ready | Step | Output | ResetDone | Died

_encode = msgspec.msgpack.Encoder().encode
decode_to_engine = msgspec.msgpack.Decoder(ToEngine).decode
decode_from_engine = msgspec.msgpack.Decoder(FromEngine).decode


def frame(message: ToEngine | FromEngine) -> bytes:
    """Return the message as it travels: its length, then msgpack."""
    body = _encode(message)
    return LENGTH.pack(len(body)) + body
