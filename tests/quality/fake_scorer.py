"""A server of our own that scores prompts in one of the ways that engines have, or in none."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from whichbits.serve.endpoint.replica import Endpoint


@dataclass
class FakeScorer:
    """Token ids are code points; ``ways`` are the request fields that it understands, others are refused with 400."""

    ways: tuple[str, ...] = ("prompt_logprobs",)
    tokenizes: bool = True
    ignores_others: bool = False
    refused: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def completions(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        asked = [name for name in ("prompt_logprobs", "echo") if body.get(name)]
        if any(name not in self.ways for name in asked) and not self.ignores_others:
            return web.json_response({"error": {"message": f"unknown field {asked[0]}"}}, status=400)
        prompt = body["prompt"]
        tokens = [ord(each) for each in prompt] if isinstance(prompt, str) else prompt
        if self.refused and self.refused in "".join(map(chr, tokens)):
            return web.json_response({"error": {"message": "too long"}}, status=400)
        return web.json_response(
            {"choices": [self._choice(tokens, [name for name in asked if name in self.ways], body)]}
        )

    def _choice(self, tokens: list[int], ways: list[str], body: dict[str, Any]) -> dict[str, Any]:
        answer = "ok" * (body["max_tokens"] // 2)
        plain = {"text": answer, "finish_reason": "length", "logprobs": None}
        if "prompt_logprobs" in ways:
            scored = [{str(token): {"logprob": -1.0, "rank": 1}, "0": {"logprob": -2.0}} for token in tokens[1:]]
            return plain | {"prompt_logprobs": [None, *scored]}
        if "echo" in ways:
            texts = [chr(token) for token in tokens]
            logprobs = [None, *[-1.0] * (len(tokens) - 1), -0.5]
            return plain | {"logprobs": {"tokens": [*texts, "!"], "token_logprobs": logprobs, "top_logprobs": None}}
        return plain | ({"token_ids": [ord(each) for each in answer]} if body.get("return_token_ids") else {})

    async def tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        if not self.tokenizes:
            return web.Response(status=404)
        text = body["prompt"] if "prompt" in body else f"<user>{body['messages'][0]['content']}<assistant>"
        return web.json_response({"tokens": [ord(each) for each in text], "max_model_len": 512})


@asynccontextmanager
async def serving(scorer: FakeScorer) -> AsyncIterator[Endpoint]:
    """Serve on a free port of the loopback interface."""
    application = web.Application()
    application.add_routes([web.post("/v1/completions", scorer.completions), web.post("/tokenize", scorer.tokenize)])
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield Endpoint("127.0.0.1", runner.addresses[0][1], "fake", None)
    finally:
        await runner.cleanup()
