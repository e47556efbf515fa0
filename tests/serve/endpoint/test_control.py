"""A control client believes what a server says, and no more."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from whichbits.errors import ServerNotReady
from whichbits.serve.endpoint.control import ControlClient, read_reset_answer
from whichbits.serve.process.server import free_ports


@pytest.mark.parametrize(
    ("status", "body", "succeeded"),
    [
        (200, '{"success": true}', True),
        (200, '{"success":false}', False),
        (200, "", None),
        (200, '{"success": "true"}', None),
        (200, '{"status": "ok"}', None),
        (200, "[true]", None),
        (404, '{"detail": "Not Found"}', False),
        (405, "", False),
        (500, '{"success": true}', False),
    ],
)
def test_a_reset_succeeded_only_if_the_answer_says_so(status: int, body: str, succeeded: bool | None) -> None:
    answer = read_reset_answer(status, body)

    assert answer.succeeded is succeeded
    assert (answer.hint is not None) == (status in {404, 405})


@pytest.fixture
async def client() -> AsyncIterator[ControlClient]:
    async def tokenize(request: web.Request) -> web.Response:
        return web.json_response({"tokens": [ord(letter) for letter in (await request.json())["prompt"]]})

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text="a 1\n")

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "small"}, {"id": "large"}]})

    async def version(request: web.Request) -> web.Response:
        return web.json_response({"release": "1.2"})

    async def reset(request: web.Request) -> web.Response:
        return web.json_response({"success": True})

    app = web.Application()
    app.router.add_post("/tokenize", tokenize)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/version", version)
    app.router.add_post("/reset_prefix_cache", reset)
    async with TestServer(app) as server, ControlClient(str(server.make_url("")).rstrip("/")) as control:
        yield control


async def test_endpoints_are_read(client: ControlClient) -> None:
    first, second = await client.scrape(), await client.scrape()

    assert first.text == "a 1\n"
    assert first.time_ns < second.time_ns
    assert await client.models() == ("small", "large")
    assert await client.tokenize("ab") == (97, 98)
    assert (await client.reset_prefix_cache()).succeeded is True


async def test_an_answer_of_another_shape_is_refused(client: ControlClient) -> None:
    with pytest.raises(ServerNotReady, match=r"version: .*release"):
        await client.version()


async def test_a_server_that_is_gone_is_an_error_for_people() -> None:
    async with ControlClient(f"http://127.0.0.1:{free_ports(1)[0]}") as client:
        with pytest.raises(ServerNotReady, match="did not answer"):
            await client.reset_prefix_cache()


@pytest.mark.parametrize(
    "body", ["<html>", "[]", "null", '{"data": null}', '{"data": ["x", {"id": 1}]}', '{"data": [null]}']
)
async def test_a_list_of_models_that_is_none_is_one_clear_error(body: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body)

    app = web.Application()
    app.router.add_get("/v1/models", answer)
    async with TestServer(app) as server, ControlClient(str(server.make_url("")).rstrip("/")) as client:
        with pytest.raises(ServerNotReady) as refused:
            await client.models()

    assert refused.value.code == "unexpected_answer"
