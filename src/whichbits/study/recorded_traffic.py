"""Traffic that was recorded: prompts, lengths or times come from a file or another run."""

from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from whichbits.study.drawn_traffic import ThinkTime
from whichbits.study.strict import Strict

_TOKENIZER = "A tokenizer.json to count tokens with (extra `tokenizers`); without, four characters count as one."


class ShareGptTraffic(Strict):
    """Prompts and answer lengths of a file of conversations, as ShareGPT's."""

    kind: Literal["sharegpt"] = Field(description="Which traffic this is.")
    path: str = Field(min_length=1, description="The file: one JSON array, or an object a line.")
    turns: Literal["first", "all"] = Field(
        default="first", description="The first question of each conversation, or all of them, as sessions."
    )
    tokenizer: str | None = Field(default=None, description=_TOKENIZER)
    longest_input: PositiveInt | None = Field(default=None, description="Skip what has a prompt of more tokens.")
    longest_output: PositiveInt | None = Field(default=None, description="Skip what has an answer of more tokens.")
    think_seconds: NonNegativeFloat = Field(default=5.0, description="With `turns: all`, mean time between turns.")
    think: ThinkTime = Field(default="exponential", description="How think times spread around their mean.")
    think_sigma: float = Field(default=1.0, gt=0, description="Spread of ln(think time) if it is log_normal.")


class JsonlTraffic(Strict):
    """Requests of your own: an object a line with a prompt, messages or token ids, and a number of output tokens."""

    kind: Literal["jsonl"] = Field(description="Which traffic this is.")
    path: str = Field(min_length=1, description="The file.")
    order: Literal["shuffled", "file"] = Field(default="shuffled", description="In which order lines are sent.")
    output_tokens: PositiveInt | None = Field(default=None, description="Answer length where a line names none.")
    tokenizer: str | None = Field(default=None, description=_TOKENIZER)
    longest_input: PositiveInt | None = Field(default=None, description="Skip what has a prompt of more tokens.")
    longest_output: PositiveInt | None = Field(default=None, description="Skip what has an answer of more tokens.")


class TraceTraffic(Strict):
    """Lengths, and shared blocks where it has them, of a trace: Mooncake, BurstGPT or Azure."""

    kind: Literal["trace"] = Field(description="Which traffic this is.")
    path: str = Field(min_length=1, description="The trace; which of the three it is, its columns or keys say.")
    block_tokens: PositiveInt = Field(default=512, description="Tokens of a block that a hash of the trace names.")
    longest_input: PositiveInt | None = Field(default=None, description="Skip what has a prompt of more tokens.")
    longest_output: PositiveInt | None = Field(default=None, description="Skip what has an answer of more tokens.")


class RunTraffic(Strict):
    """The requests of another run once more: lengths, order, times, and prompts where they can be planned again."""

    kind: Literal["run"] = Field(description="Which traffic this is.")
    path: str = Field(min_length=1, description="The run folder.")
    arm: str | None = Field(default=None, description="Whose cells are replayed; the first arm that has the load.")
