"""The promises of the HTTP face, kept by a real server process with a tiny model."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.serve.embedded.running_server import RunningServer, serving
from tests.serve.embedded.tiny_model import CONTEXT, byte_id, tokens

BUDGET = 32
PROMPT = [byte_id(byte) for byte in b"the quick brown fox"]


@pytest.fixture(scope="module")
def server(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("server") / "server.log"
    with serving(tiny_model, log, "--max-num-batched-tokens", str(BUDGET), "--threads", "1") as running:
        yield running


async def events(server: RunningServer, body: dict[str, Any], path: str = "/v1/completions") -> AsyncGenerator[Any]:
    """The events of one stream; the last is the text [DONE]."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.url + path, json=body | {"stream": True}) as answer,
    ):
        assert answer.status == 200, await answer.text()
        async for line in answer.content:
            if line.startswith(b"data: "):
                data = line.removeprefix(b"data: ").strip()
                yield "[DONE]" if data == b"[DONE]" else json.loads(data)


def eventually(holds: Callable[[], bool]) -> bool:
    """True as soon as it holds; false after a minute without it."""
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_ignore_eos_gives_exactly_the_tokens_asked_for(server: RunningServer) -> None:
    answer = server.complete(PROMPT, max_tokens=37, ignore_eos=True)

    assert len(answer["choices"][0]["token_ids"]) == 37
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 37
    assert answer["usage"]["prompt_tokens"] == len(PROMPT)


def test_a_text_and_its_ids_are_the_same_prompt(server: RunningServer) -> None:
    by_ids = server.complete(PROMPT, max_tokens=8, temperature=0, ignore_eos=True)
    _, tokenized = server.post("/tokenize", prompt="the quick brown fox")
    by_text = server.complete("the quick brown fox", max_tokens=8, temperature=0, ignore_eos=True)
    by_its_ids = server.complete(tokenized["tokens"], max_tokens=8, temperature=0, ignore_eos=True)

    assert by_text["choices"][0]["text"] == by_its_ids["choices"][0]["text"]
    assert by_text["usage"]["prompt_tokens"] == tokenized["count"] < by_ids["usage"]["prompt_tokens"]


def test_tokenize_and_detokenize_are_inverse(server: RunningServer) -> None:
    text = "then añd 東京 \N{SNOWMAN}"
    _, tokenized = server.post("/tokenize", prompt=text)

    assert server.post("/detokenize", tokens=tokenized["tokens"]) == (200, {"prompt": text})
    assert tokenized["max_model_len"] == CONTEXT


def test_a_stop_token_ends_the_answer(server: RunningServer) -> None:
    greedy = {"max_tokens": 12, "temperature": 0, "ignore_eos": True}
    first, *_, last = server.complete(PROMPT, **greedy)["choices"][0]["token_ids"]
    choice = server.complete(PROMPT, **greedy, stop_token_ids=[first])["choices"][0]

    assert (choice["token_ids"], choice["finish_reason"]) == ([first], "stop")
    assert last != first


def test_a_seed_draws_the_same_answer_again(server: RunningServer) -> None:
    def drawn(seed: int) -> list[int]:
        answer = server.complete(PROMPT, max_tokens=16, temperature=1.0, seed=seed, ignore_eos=True)
        ids: list[int] = answer["choices"][0]["token_ids"]
        return ids

    assert drawn(7) == drawn(7) != drawn(8)


def test_logprobs_of_greedy_tokens_are_those_of_likely_tokens(server: RunningServer) -> None:
    answer = server.complete(PROMPT, max_tokens=6, temperature=0, ignore_eos=True, logprobs=1)
    logprobs = answer["choices"][0]["logprobs"]["token_logprobs"]

    assert len(logprobs) == 6
    uniform = -5.57  # ln(1/261): the most likely token of any distribution over 261 is at least as likely
    assert all(uniform < value < 0 for value in logprobs)


def test_an_echo_gives_each_prompt_token_the_log_probability_that_generating_it_would(server: RunningServer) -> None:
    server.post("/reset_prefix_cache")
    greedy = server.complete(PROMPT, max_tokens=6, temperature=0, ignore_eos=True, logprobs=1)["choices"][0]
    prompt = PROMPT + greedy["token_ids"]
    server.post("/reset_prefix_cache")
    echoed = server.complete(prompt, max_tokens=1, temperature=0, ignore_eos=True, logprobs=1, echo=True)
    logprobs = echoed["choices"][0]["logprobs"]["token_logprobs"]

    assert logprobs[0] is None
    assert len(logprobs) == len(prompt) + 1
    assert logprobs[len(PROMPT) : -1] == pytest.approx(greedy["logprobs"]["token_logprobs"], abs=0.02)
    assert echoed["choices"][0]["text"].startswith("the quick brown fox")
    assert len(echoed["choices"][0]["token_ids"]) == echoed["usage"]["completion_tokens"] == 1


def test_an_echo_says_null_of_what_the_prefix_cache_held(server: RunningServer) -> None:
    prompt = [*PROMPT, *range(10, 60)]
    server.post("/reset_prefix_cache")
    asked = {"max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}
    whole, partial = (server.complete(prompt, **asked)["choices"][0]["logprobs"]["token_logprobs"] for _ in range(2))

    assert whole.count(None) == 1
    assert partial.count(None) > 1
    known = [value for value in partial[:-1] if value is not None]
    assert known == pytest.approx(whole[:-1][len(whole) - 1 - len(known) :], abs=0.02)


async def test_every_event_of_a_stream_says_how_far_it_is(server: RunningServer) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    body = {"max_tokens": 20, "ignore_eos": True, "return_token_ids": True, "stream_options": options}
    *chunks, total, done = [event async for event in events(server, {"prompt": PROMPT} | body)]

    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts == list(range(1, 21))
    assert [len(chunk["choices"][0]["token_ids"]) for chunk in chunks] == [1] * 20
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 19 + ["length"]
    assert (total["choices"], total["usage"]["completion_tokens"]) == ([], 20)
    assert done == "[DONE]"


async def test_streamed_text_is_the_whole_text(server: RunningServer) -> None:
    body = {"max_tokens": 60, "temperature": 0, "ignore_eos": True}
    whole = server.complete(PROMPT, **body)["choices"][0]["text"]
    *chunks, _ = [event async for event in events(server, {"prompt": PROMPT} | body)]

    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == whole


async def test_a_chat_uses_the_template_and_opens_with_a_role(server: RunningServer) -> None:
    messages = [{"role": "user", "content": "hi"}]
    _, prompt = server.post("/tokenize", messages=messages)
    body = {"messages": messages, "max_tokens": 4, "temperature": 0, "ignore_eos": True}
    opening, *chunks, _ = [event async for event in events(server, body, "/v1/chat/completions")]
    _, answer = server.post("/v1/chat/completions", **body)

    assert opening["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    text = "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": text}
    assert answer["usage"]["prompt_tokens"] == prompt["count"]
    assert server.post("/detokenize", tokens=prompt["tokens"])[1]["prompt"] == "<|start|>user: hi\n<|start|>assistant: "


async def test_books_balance_over_parallel_streams(server: RunningServer) -> None:
    names = ("prompt_tokens_total", "generation_tokens_total", "request_success_total")
    before = [server.metric(name) for name in names]
    lengths = range(5, 29)

    async def count(length: int) -> int:
        body = {"prompt": PROMPT[: 1 + length % 7], "max_tokens": length, "ignore_eos": True}
        return len([event async for event in events(server, body)]) - 1

    counted = await asyncio.gather(*(count(length) for length in lengths))

    assert counted == list(lengths)
    prompts = sum(1 + length % 7 for length in lengths)
    after = [server.metric(name) for name in names]
    assert [b - a for a, b in zip(before, after, strict=True)] == [prompts, sum(lengths), len(lengths)]


async def test_a_client_that_leaves_frees_its_sequence(server: RunningServer) -> None:
    aborted = server.metric("request_success_total", finished_reason="abort")
    stream = events(server, {"prompt": PROMPT, "max_tokens": CONTEXT - len(PROMPT), "ignore_eos": True})
    await anext(stream)
    refused = await asyncio.to_thread(server.post, "/reset_prefix_cache")
    await stream.aclose()

    assert refused[1]["success"] is False
    assert eventually(lambda: server.metric("request_success_total", finished_reason="abort") == aborted + 1)
    assert eventually(lambda: server.metric("num_requests_running") == 0)
    assert eventually(lambda: server.post("/reset_prefix_cache")[1]["success"])


def test_a_reset_makes_a_known_prompt_cold_again(server: RunningServer) -> None:
    prompt = [2 + at % 256 for at in range(8 * BUDGET)]

    def steps() -> float:
        before = server.metric("engine_steps_total")
        server.complete(prompt, max_tokens=1)
        return server.metric("engine_steps_total") - before

    cold, warm = steps(), steps()
    _, answer = server.post("/reset_prefix_cache")
    cold_again = steps()

    assert answer["success"] is True
    assert (cold, warm, cold_again) == (8, 1, 8)  # the token budget of a step is an eighth of the prompt


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        ({"prompt": []}, "empty"),
        ({"prompt": [5, len(tokens())]}, "vocabulary"),
        ({"prompt": [-1]}, "vocabulary"),
        ({"prompt": [5] * CONTEXT}, f"{CONTEXT}"),
        ({"prompt": [5], "max_tokens": 0}, "max_tokens"),
        ({"prompt": [5], "max_tokens": CONTEXT}, "max_tokens"),
        ({"prompt": [5], "min_tokens": 9, "max_tokens": 8}, "min_tokens"),
        ({"prompt": [[5], [6]]}, "one prompt"),
        ({"prompt": [5], "best_of": 2}, "best_of"),
        ({"prompt": [5], "stop": "x"}, "stop"),
        ({"prompt": [5], "logprobs": 5}, "logprobs"),
    ],
)
def test_what_cannot_be_honoured_is_refused(server: RunningServer, body: dict[str, Any], culprit: str) -> None:
    status, answer = server.post("/v1/completions", **body)

    assert status == 400
    assert culprit in answer["error"]["message"]
    assert answer["error"].keys() == {"message", "type", "param", "code"}


def test_another_model_and_another_path_are_not_found(server: RunningServer) -> None:
    assert server.post("/v1/completions", model="other", prompt=[5])[0] == 404
    assert server.post("/v1/embeddings")[1]["error"]["code"] == 404


def test_the_served_model_is_listed_with_its_length(server: RunningServer) -> None:
    (card,) = json.loads(server.get("/v1/models"))["data"]

    assert (card["id"], card["max_model_len"]) == ("tiny", CONTEXT)


def test_the_log_tells_what_was_built(server: RunningServer) -> None:
    from whichbits.serve.embedded.facts import read_facts

    facts = read_facts(server.log.read_text())

    assert facts["max_num_batched_tokens"].value == BUDGET
    assert facts["threads"].value == 1
    assert facts["max_model_len"].value == CONTEXT
    assert facts["quantization"].value == "f16"
    assert facts["activation_quantization_effective"].value is False
    assert facts["kv_cache_dtype"].line == "KV_CACHE_PRECISION: f16"
    kv_bytes_per_token = 2 * 2 * 1 * 32 * 2  # keys and values, layers, heads, head size, bytes
    assert facts["kv_cache_tokens"].value == 2**30 // kv_bytes_per_token
    assert all(fact.line for fact in facts.values() if fact.value is not None)
