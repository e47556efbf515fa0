"""The request function of ``vllm bench serve`` with the session that it makes; needs an interpreter that has vLLM."""

import aiohttp
from orders import INPUT_TOKENS, Order, Result, Seen, at_offsets, prompt, serve, timed
from vllm.benchmarks.lib.endpoint_request_func import (
    AIOHTTP_TIMEOUT,
    RequestFuncInput,
    async_request_openai_completions,
)


def carry_out(order: Order) -> Result:
    async def measure() -> list[Seen]:
        connector = aiohttp.TCPConnector(
            limit=0, limit_per_host=0, ttl_dns_cache=300, keepalive_timeout=60, enable_cleanup_closed=True
        )
        async with aiohttp.ClientSession(connector=connector, trust_env=True, timeout=AIOHTTP_TIMEOUT) as session:

            async def ask(index: int) -> Seen | None:
                answer = await async_request_openai_completions(_input(order, index), session)
                return Seen(index, answer.ttft, answer.itl) if answer.success else None

            return await at_offsets(order, ask)()

    return timed(measure)


def _input(order: Order, index: int) -> RequestFuncInput:
    return RequestFuncInput(
        prompt=prompt(index),
        api_url=f"{order.url}/v1/completions",
        prompt_len=INPUT_TOKENS,
        output_len=order.tokens,
        model=order.model,
        ignore_eos=True,
    )


if __name__ == "__main__":
    serve(carry_out)
