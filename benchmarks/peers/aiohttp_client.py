"""aiohttp as a careful reader uses it: no limit of connections, lines as they come, JSON of each."""

import aiohttp
from orders import Order, Reading, Result, Seen, at_offsets, body, serve, timed

_BUFFER_BYTES = 2**20


def carry_out(order: Order) -> Result:
    async def measure() -> list[Seen]:
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=_BUFFER_BYTES) as session:

            async def ask(index: int) -> Seen | None:
                reading = Reading(index)
                async with session.post(f"{order.url}/v1/completions", json=body(order, index)) as answer:
                    async for line in answer.content:
                        reading.line(line)
                return reading.seen()

            return await at_offsets(order, ask)()

    return timed(measure)


if __name__ == "__main__":
    serve(carry_out)
