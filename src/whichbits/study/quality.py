"""What is asked of each arm besides speed: how its answers differ from those of a reference."""

from pydantic import Field, NonNegativeInt, PositiveInt

from whichbits.study.strict import Strict

SIXTEEN_BITS = ("bf16", "fp16", "fp32")
"""Formats that may be a reference without being named as one."""


class Quality(Strict):
    """What each arm is asked after its cells, untimed, so that its answers can be judged; `true` takes the defaults."""

    reference: str | None = Field(
        default=None, description="The arm that the others are held against; the first 16-bit one where none is named."
    )
    texts: str | None = Field(
        default=None, description="Folder of own texts, a .txt file a domain; those shipped with whichbits by default."
    )
    domains: tuple[str, ...] | None = Field(
        default=None, description="Only these domains; shipped are prose, code, korean, numbers and long."
    )
    tokens: PositiveInt = Field(default=2048, description="Texts are cut to this many tokens.")
    top: int = Field(
        default=20, ge=2, description="Likeliest tokens asked for at each position, where the server gives them."
    )
    answer_tokens: NonNegativeInt = Field(
        default=192, description="Longest greedy answer to the questions; 0 asks no questions."
    )
    at_once: PositiveInt = Field(default=4, description="Requests in flight.")
    tasks: tuple[str, ...] = Field(
        default=(), description="Tasks that lm-eval (the extra `lm-eval`) runs against each arm."
    )
    task_questions: PositiveInt | None = Field(
        default=None, description="Only the first so many questions of each task."
    )
