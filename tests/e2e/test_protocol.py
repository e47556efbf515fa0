"""A hosted server that wants a key, tells no usage and turns some requests away: what a run writes of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.e2e.tool import AS_INSTALLED, run_of, tool

KEY = "sk-local-0123456789abcdef"
WORDS = ("one", " two", " three")


class HostedServer:
    """Answers three words in two chunks; from its ninth completion on every fourth is refused, and the key quoted."""

    def __init__(self) -> None:
        self.completions_asked = 0
        self.tokenized: list[dict[str, Any]] = []

    async def models(self, request: web.Request) -> web.Response:
        allowed = request.headers.get("Authorization") == f"Bearer {KEY}"
        return web.json_response({"data": [{"id": "hosted"}]}, status=200 if allowed else 401)

    async def completions(self, request: web.Request) -> web.StreamResponse:
        self.completions_asked += 1
        if self.completions_asked > 8 and self.completions_asked % 4 == 0:
            said = {"error": {"message": f"too fast for {request.headers['Authorization']}"}}
            return web.json_response(said, status=429, headers={"Retry-After": "3"})
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        for text, finish in ((WORDS[0], None), (WORDS[1] + WORDS[2], "length")):
            await asyncio.sleep(0.01)
            choice = {"index": 0, "text": text, "finish_reason": finish}
            await answer.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        await answer.write(b"data: [DONE]\n\n")
        return answer

    async def tokenize(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.tokenized.append(asked)
        tokens = asked["prompt"].split()
        return web.json_response({"count": len(tokens), "tokens": list(range(len(tokens)))})


async def test_the_key_is_nowhere_refusals_are_counted_and_the_server_counts_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_KEY", KEY)
    hosted = HostedServer()
    app = web.Application()
    app.router.add_get("/v1/models", hosted.models)
    app.router.add_post("/v1/completions", hosted.completions)
    app.router.add_post("/tokenize", hosted.tokenize)
    async with TestServer(app) as server:
        study = write_study(tmp_path, str(server.make_url("")).rstrip("/"))
        with tool(tmp_path, "run", study, "--json", program=AS_INSTALLED) as run:
            await asyncio.to_thread(run.wait)
            stdout, stderr = run.stdout, run.stderr
    found = run_of(tmp_path)
    (cell,) = found.cells
    records = found.records(cell.cell)
    refused = [record for record in records if not record.succeeded]
    good = [record for record in records if record.succeeded]

    assert cell.token_count_source == "tokenize endpoint", stderr
    assert {record.output_tokens for record in good} == {3}
    assert hosted.tokenized[0]["prompt"] == "one two three"
    assert {(record.error_code, record.error) for record in refused} == {
        ("rate_limited", "HTTP 429 (Retry-After: 3): too fast for Bearer ***")
    }
    assert json.loads(stdout)["cells"][0]["errors"] == {"rate_limited": len(refused)}
    assert hosted.completions_asked == 8 + len(records)
    assert files_with(tmp_path, "hosted") != []
    assert files_with(tmp_path, KEY) == []
    assert KEY not in stdout + stderr


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def write_study(folder: Path, url: str) -> Path:
    study = {
        "name": "hosted",
        "arms": {
            "a": {
                "weight_format": "bf16",
                "model": "hosted",
                "engine": "openai",
                "target": {"url": url, "api_key_variable": "HOSTED_KEY"},
            }
        },
        "traffic": {"kind": "random", "input_tokens": 4, "output_tokens": 3},
        "loads": [2],
        "cell": {"requests": 8},
        "warm_up": {"at_least_requests": 4, "at_most_requests": 8, "stable_within": 0.0001},
        "limits": {"failed_share": 1},
        "output": str(folder / "runs"),
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path
