"""Who counts tokens where the server's usage does not, and that the record says who."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.record.make_run import failed, record
from whichbits.conduct.cells.token_counts import count_tokens, insist_on_tokenizer
from whichbits.errors import BadInput
from whichbits.record.schema import RequestRecord
from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.control import ControlClient
from whichbits.study.arm import Arm, ServersThatRun

TOLD = record(0, n=4)
SILENT = [replace(record(index, n=4), output_tokens=None, text=text) for index, text in ((0, "a b c"), (1, "a b"))]
FORMS: dict[str, Any] = {
    "vllm": ("prompt", lambda words: {"count": len(words), "max_model_len": 9, "tokens": words, "token_strs": None}),
    "sglang": ("prompt", lambda words: {"tokens": words, "count": len(words), "max_model_len": 9}),
    "llama.cpp": ("content", lambda words: {"tokens": words}),
    "tgi": ("inputs", lambda words: [{"id": word, "text": "x", "start": 0, "stop": 1} for word in words]),
}


def arm(**target: Any) -> Arm:
    target = {"url": "http://h:1", **target}
    return Arm.model_validate({"weight_format": "bf16", "model": "m", "engine": "openai", "target": target})


def running(control: ControlClient, *, tells_usage: bool = False) -> RunningArm:
    fleet = SimpleNamespace(replicas=[SimpleNamespace(control=control)], endpoints=[SimpleNamespace(model="qwen")])
    return cast("RunningArm", SimpleNamespace(fleet=fleet, tells_usage=tells_usage))


async def counted(
    records: list[RequestRecord], asked: Arm, answer: Any = None, *, tells_usage: bool = False
) -> tuple[list[int | None], str | None]:
    """Count by a server whose /tokenize gives ``answer`` of the request's JSON; 404 without one."""

    async def tokenize(request: web.Request) -> web.Response:
        return web.json_response(answer(await request.json()))

    app = web.Application()
    if answer is not None:
        app.router.add_post("/tokenize", tokenize)
    async with TestServer(app) as server, ControlClient(str(server.make_url("")).rstrip("/")) as control:
        found, source = await count_tokens(asked, running(control, tells_usage=tells_usage), records)
    assert [each.text for each in found] == [None] * len(records)
    assert [each.chunk_tokens for each in found] == [each.chunk_tokens for each in records]
    return [each.output_tokens for each in found], source


@pytest.mark.parametrize("tells_usage", [True, False])
async def test_usage_is_believed_and_what_one_answer_lacks_stays_unknown(tells_usage: bool) -> None:
    assert await counted([TOLD, SILENT[1]], arm(), tells_usage=tells_usage) == ([4, None], "usage")


@pytest.mark.parametrize("engine", FORMS)
async def test_the_servers_tokenizer_counts_in_each_engines_form(engine: str) -> None:
    name, answer = FORMS[engine]

    def words(asked: dict[str, Any]) -> Any:
        assert asked["model"] == "qwen"
        assert not asked["add_special_tokens"]
        return answer(list(range(len(asked[name].split()))))

    assert await counted(SILENT, arm(), words) == ([3, 2], "tokenize endpoint")


async def test_a_tokenizer_file_counts_where_the_server_does_not(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "c": 2}, "?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))

    assert await counted(SILENT, arm(tokenizer_file=str(path))) == ([3, 2], "tokenizer")


async def test_without_either_chunks_are_counted() -> None:
    chunks = [len(each.chunk_ns) for each in SILENT]

    assert await counted(SILENT, arm()) == (chunks, "chunks")
    assert await counted([*SILENT, failed(record(2))], arm()) == (
        [*chunks, None],
        "chunks",
    )


async def test_an_answer_that_is_no_count_is_not_believed() -> None:
    assert (await counted(SILENT, arm(), lambda _: {"tokens": "many"}))[1] == "chunks"


async def test_where_nothing_succeeded_nobody_counted() -> None:
    assert await counted([failed(record(0))], arm()) == ([None], None)


def test_a_file_that_is_no_tokenizer_is_refused_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(BadInput) as refused:
        insist_on_tokenizer(ServersThatRun(urls=("http://h:1",), tokenizer_file=str(path)))

    assert refused.value.code == "tokenizer_file_unusable"
