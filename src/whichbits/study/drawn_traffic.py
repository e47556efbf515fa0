"""Traffic that is drawn: its prompts are made of random token ids, its lengths of the numbers given here."""

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from whichbits.study.strict import Strict

ThinkTime = Literal["constant", "exponential", "log_normal"]


class ChatTraffic(Strict):
    """Conversations as ShareGPT has them: log-normal lengths around the given means."""

    kind: Literal["chat"] = Field(description="Which traffic this is.")
    input_tokens: PositiveInt = Field(default=218, description="Mean prompt length in tokens.")
    output_tokens: PositiveInt = Field(default=220, description="Mean answer length in tokens.")
    input_sigma: PositiveFloat = Field(default=1.0, description="Spread of ln(prompt length).")
    output_sigma: PositiveFloat = Field(default=0.8, description="Spread of ln(answer length).")
    longest_input: PositiveInt | None = Field(default=None, description="Cut prompts to this; default 8 x the mean.")
    longest_output: PositiveInt | None = Field(default=None, description="Cut answers to this; default 4 x the mean.")


class PrefixRepetitionTraffic(Strict):
    """Prompts that share long prefixes: ``prefixes`` distinct ones, used equally often (within one)."""

    kind: Literal["prefix_repetition"] = Field(description="Which traffic this is.")
    prefix_tokens: PositiveInt = Field(default=3072, description="Length of each shared prefix.")
    suffix_tokens: PositiveInt = Field(default=64, description="Length of what each request has of its own.")
    prefixes: PositiveInt = Field(default=160, description="Distinct prefixes.")
    output_tokens: PositiveInt = Field(default=32, description="Length of every answer.")


class RandomTraffic(Strict):
    """Prompts of independent random tokens, all of one length (or uniform within a range around it)."""

    kind: Literal["random"] = Field(description="Which traffic this is.")
    input_tokens: PositiveInt = Field(default=128, description="Prompt length, or the middle of its range.")
    output_tokens: PositiveInt = Field(default=64, description="Answer length, or the middle of its range.")
    range_ratio: float = Field(default=0.0, ge=0, lt=1, description="Lengths vary by this share, both ways.")


class SharedPromptTraffic(Strict):
    """One system prompt in front of every request, then a part of its own."""

    kind: Literal["shared_prompt"] = Field(description="Which traffic this is.")
    shared_tokens: PositiveInt = Field(default=1024, description="Length of the system prompt that all share.")
    input_tokens: PositiveInt = Field(default=128, description="Length of a request's own part, or its range's middle.")
    output_tokens: PositiveInt = Field(default=128, description="Answer length, or the middle of its range.")
    range_ratio: float = Field(default=0.0, ge=0, lt=1, description="Own parts and answers vary by this share.")


class SessionsTraffic(Strict):
    """Conversations of several turns: each prompt is the one before, the planned answer to it, and new input."""

    kind: Literal["sessions"] = Field(description="Which traffic this is.")
    turns: PositiveInt = Field(default=4, description="Turns of a session, or the middle of their range.")
    shared_tokens: NonNegativeInt = Field(default=0, description="Length of a system prompt that all sessions share.")
    first_tokens: PositiveInt = Field(default=256, description="Input of a session's first turn.")
    input_tokens: PositiveInt = Field(default=64, description="New input of every later turn.")
    output_tokens: PositiveInt = Field(default=128, description="Length of every answer.")
    range_ratio: float = Field(default=0.0, ge=0, lt=1, description="Turns and lengths vary by this share, both ways.")
    think_seconds: NonNegativeFloat = Field(default=5.0, description="Mean time from an answer to the next question.")
    think: ThinkTime = Field(default="exponential", description="How think times spread around their mean.")
    think_sigma: PositiveFloat = Field(default=1.0, description="Spread of ln(think time) if it is log_normal.")

    @model_validator(mode="after")
    def _turns_at_least_one(self) -> Self:
        if self.turns * (1 - self.range_ratio) < 0.5:
            message = "range_ratio leaves sessions without a turn; give more turns or a smaller ratio"
            raise ValueError(message)
        return self
