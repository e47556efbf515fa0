"""How servers' answers about a prompt are read."""

from typing import Any

from whichbits.quality.asked import Token
from whichbits.quality.ways import WAYS

VLLM: dict[str, Any] = {
    "text": "!",
    "prompt_logprobs": [
        None,
        {
            "7": {"logprob": -0.25, "rank": 1, "decoded_token": " the"},
            "9": {"logprob": -2.0, "rank": 2, "decoded_token": " a"},
        },
        {
            "3": {"logprob": -0.5, "rank": 1, "decoded_token": " cat"},
            "4": {"logprob": -1.5, "rank": 2, "decoded_token": " dog"},
            "8": {"logprob": -6.0, "rank": 40, "decoded_token": " emu"},
        },
    ],
}
ECHO: dict[str, Any] = {
    "text": "On the emu!",
    "logprobs": {
        "tokens": ["On", " the", " emu", "!"],
        "token_logprobs": [None, -0.25, -6.0, -1.0],
        "top_logprobs": None,
    },
}


def test_prompt_logprobs_hold_the_prompts_token_among_the_likeliest() -> None:
    tokens = WAYS["prompt_logprobs"].read(VLLM, [5, 7, 8])

    assert tokens == (
        Token("5", "", None),
        Token("7", " the", -0.25, {"7": -0.25, "9": -2.0}),
        Token("8", " emu", -6.0, {"3": -0.5, "4": -1.5, "8": -6.0}),
    )


def test_an_answer_that_ignored_prompt_logprobs_is_none() -> None:
    assert WAYS["prompt_logprobs"].read({"text": "!"}, [5, 7, 8]) is None
    assert WAYS["prompt_logprobs"].read(VLLM, [5, 7]) is None


def test_an_echo_ends_before_the_generated_token() -> None:
    tokens = WAYS["echo"].read(ECHO, [5, 7, 8])

    assert tokens == (Token("5", "On", None), Token("7", " the", -0.25), Token("8", " emu", -6.0))


def test_an_echo_of_a_text_names_tokens_by_their_text() -> None:
    tokens = WAYS["echo"].read(ECHO, "On the emu")

    assert tokens is not None
    assert [token.key for token in tokens] == ["On", " the", " emu"]


def test_an_echo_with_likeliest_tokens_keeps_them_with_the_prompts_own() -> None:
    tops = [None, {" the": -0.25, " a": -2.0}, {" cat": -0.5, " dog": -1.5}, {"!": -1.0, "?": -2.0}]
    tokens = WAYS["echo"].read({"logprobs": ECHO["logprobs"] | {"top_logprobs": tops}}, [5, 7, 8])

    assert tokens is not None
    assert tokens[2] == Token(" emu", " emu", -6.0, {" cat": -0.5, " dog": -1.5, " emu": -6.0})


def test_one_likeliest_token_alone_is_not_taken_for_a_distribution() -> None:
    tops = [None, {" the": -0.25}, {" cat": -0.5}, {"!": -1.0}]
    tokens = WAYS["echo"].read({"logprobs": ECHO["logprobs"] | {"top_logprobs": tops}}, [5, 7, 8])

    assert tokens is not None
    assert all(not token.top for token in tokens)


def test_a_plain_completion_is_no_echo() -> None:
    answer = {"text": "!", "logprobs": {"tokens": ["!"], "token_logprobs": [-1.0], "top_logprobs": None}}

    assert WAYS["echo"].read(answer, [5, 7, 8]) is None
