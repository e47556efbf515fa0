"""httpx as its documentation streams lines: no limit of connections, JSON of each line."""

import httpx
from orders import Order, Reading, Result, Seen, at_offsets, body, serve, timed

_PATIENCE = httpx.Timeout(3600.0)


def carry_out(order: Order) -> Result:
    async def measure() -> list[Seen]:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=_PATIENCE) as client:

            async def ask(index: int) -> Seen | None:
                reading = Reading(index)
                async with client.stream("POST", f"{order.url}/v1/completions", json=body(order, index)) as answer:
                    async for line in answer.aiter_lines():
                        reading.line(line)
                return reading.seen()

            return await at_offsets(order, ask)()

    return timed(measure)


if __name__ == "__main__":
    serve(carry_out)
