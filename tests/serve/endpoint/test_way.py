"""Running servers behind TLS of a private authority, behind a proxy, and beside one that is left alone."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.drive.certificates import made_up_authority
from tests.drive.fake_proxy import proxying
from tests.drive.fake_server import eventually
from tests.serve.fake_engine_server import answering
from whichbits.conduct.arms.addresses import targets
from whichbits.errors import BadInput, ServerNotReady
from whichbits.record.schema import Fact
from whichbits.record.scrapes import read_scrapes
from whichbits.serve.arm import serve_arm
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.endpoint.way import insist_on_authorities
from whichbits.serve.watch.watch import Watch, WatchTarget
from whichbits.study.arm import Arm, ServersThatRun
from whichbits.study.model import Limits
from whichbits.study.request import RequestForm

SERVER = {"/v1/models": {"data": [{"id": "qwen"}]}, "/metrics": "x_total 1\n"}


def arm(url: str, **way: Any) -> Arm:
    target = {"url": url} | way
    return Arm.model_validate({"weight_format": "bf16", "model": "qwen", "engine": "openai", "target": target})


async def facts_and_target(folder: Path, asked: Arm) -> tuple[dict[str, Fact], Any]:
    async with serve_arm("it", asked, folder, Limits()) as running:
        (record,) = running.record.replicas
        (target,) = targets(running, RequestForm())
        return record.facts, target


async def test_a_private_authority_is_trusted_where_it_is_named_and_nowhere_else(tmp_path: Path) -> None:
    _, authority = made_up_authority(tmp_path)
    with answering(SERVER, certificate=tmp_path / "server.pem") as (plain, _):
        url = plain.replace("http:", "https:")
        _, target = await facts_and_target(tmp_path, arm(url, ca_file=authority))
        with pytest.raises(ServerNotReady) as refused:
            await facts_and_target(tmp_path, arm(url))

    assert (target.tls, target.ca_file) == (True, authority)
    assert "no TLS connection can be trusted" in refused.value.why


async def test_what_is_asked_of_a_server_goes_through_its_proxy_and_the_record_says_so(tmp_path: Path) -> None:
    with answering(SERVER) as (url, _):
        async with proxying() as proxy:
            facts, target = await facts_and_target(tmp_path, arm(url, proxy=proxy.url))

    assert f"GET {url}/v1/models HTTP/1.1" in proxy.lines
    assert facts["client_transport"] == Fact("aiohttp", "target.proxy")
    assert target.proxy == proxy.url


async def test_a_proxy_of_the_environment_is_used_on_demand_and_never_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(SERVER) as (url, _):
        async with proxying() as proxy:
            secret = proxy.url.replace("http://", "http://me:hush@")
            monkeypatch.setenv("HTTP_PROXY", secret)
            monkeypatch.delenv("NO_PROXY", raising=False)
            monkeypatch.delenv("no_proxy", raising=False)
            left_alone, direct = await facts_and_target(tmp_path, arm(url))
            unasked = list(proxy.lines)
            used, through = await facts_and_target(tmp_path, arm(url, use_environment_proxy=True))
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            exempt, _ = await facts_and_target(tmp_path, arm(url, use_environment_proxy=True))

    assert unasked == []
    assert left_alone["environment_proxy"] == Fact("not used", "HTTP_PROXY")
    assert direct.proxy is None
    assert used["client_transport"] == Fact("aiohttp", "HTTP_PROXY")
    assert through.proxy == secret
    assert "Proxy-Authorization: Basic bWU6aHVzaA==" in proxy.heads[0]
    assert not {"client_transport", "environment_proxy"} & exempt.keys()
    assert "hush" not in f"{used}{through}"


async def test_a_proxy_that_refuses_is_quoted_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with proxying(refuse=b"407 Proxy Authentication Required") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("http://", "http://me:hush@"))
        monkeypatch.setattr("whichbits.serve.attached._PATIENCE_SECONDS", 0)
        with pytest.raises(ServerNotReady) as refused:
            await facts_and_target(tmp_path, arm("https://127.0.0.1:9", use_environment_proxy=True))

    assert "407" in refused.value.why
    assert "hush" not in f"{refused.value}{refused.value.why}"


@pytest.mark.parametrize("tls", [False, True])
async def test_the_watch_goes_the_same_way(tmp_path: Path, tls: bool) -> None:
    _, authority = made_up_authority(tmp_path)
    (tmp_path / "run").mkdir()
    with answering(SERVER, certificate=tmp_path / "server.pem" if tls else None) as (plain, _):
        url = plain.replace("http:", "https:") if tls else plain
        async with proxying() as proxy:
            watched = WatchTarget("a", "0", url, None, authority, proxy.url.replace("//", "//me:hush@"))
            async with Watch([watched], tmp_path / "run", 0, interval_seconds=0.02) as watch:
                await watch.begin(0)
                async with asyncio.timeout(20):
                    await eventually(lambda: any(tmp_path.glob("run/scrapes/*")))
                report = await watch.pause()

    assert report.scrapes
    assert {scrape.text for scrape in read_scrapes(tmp_path / "run")} == {"x_total 1\n"}
    assert proxy.lines[0].startswith("CONNECT 127.0.0.1" if tls else f"GET {url}/metrics")
    assert "Proxy-Authorization: Basic bWU6aHVzaA==" in proxy.heads[0]


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_without_authorities_is_refused_before_anything_starts(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInput) as refused:
        insist_on_authorities(ServersThatRun(urls=("https://h:1",), ca_file=str(path)))

    assert refused.value.code == "ca_file_unusable"


def test_kubernetes_has_a_way_of_its_own() -> None:
    with pytest.raises(ValueError, match="kubectl has its own"):
        ServersThatRun.model_validate({"kubernetes": {"service": "s"}, "proxy": "http://p:3128"})


async def test_an_error_that_quotes_the_key_is_told_without_it() -> None:
    with answering({"/v1/models": "bad key s3cret-key"}, key=None) as (url, _):
        async with ControlClient(url, api_key="s3cret-key") as control:
            with pytest.raises(ServerNotReady) as refused:
                await control.models()

    assert "bad key ***" in str(refused.value)
    assert "s3cret-key" not in str(refused.value)
