"""How a request is written: the same for every arm, since another form is other work."""

from typing import Literal, Self

from pydantic import Field, model_validator

from whichbits.study.strict import Strict


class RequestForm(Strict):
    """What requests look like; the defaults leave a server the least freedom."""

    api: Literal["completions", "chat"] = Field(default="completions", description="Which OpenAI-style API is called.")
    prompt: Literal["token_ids", "text"] = Field(
        default="token_ids", description="Ids as planned, or a word for each id, for servers that take text only."
    )
    forced_length: bool = Field(
        default=True,
        description="Ask for exactly the planned answer. Without, answers end as they like, by the plain OpenAI API.",
    )

    @model_validator(mode="after")
    def _a_chat_is_text(self) -> Self:
        if self.api == "chat" and self.prompt == "token_ids":
            message = "the chat API takes text: set prompt: text"
            raise ValueError(message)
        return self
