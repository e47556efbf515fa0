"""Running servers are found, asked, believed only as far as they speak, and never ended."""

import json
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.serve.fake_engine_server import Redirect, answering
from whichbits.errors import ArmMismatch, BadInput, ServerNotReady
from whichbits.serve import attached
from whichbits.serve.arm import RunningArm, serve_arm
from whichbits.serve.endpoint.replica import Endpoint
from whichbits.study.arm import Arm
from whichbits.study.model import Limits

MODELS = {"data": [{"id": "qwen", "max_model_len": 4096}]}
OPENAI = {"/v1/models": MODELS}
SGLANG = {
    "/health": "",
    "/v1/models": MODELS,
    "/metrics": "sglang:num_running_reqs 0\n",
    "/get_server_info": {
        "version": "0.5.4",
        "quantization": None,
        "max_total_num_tokens": 367404,
        "internal_states": [{"memory_usage": {"weight": 14.3}}],
    },
}
LLAMACPP = {
    "/health": {"status": "ok"},
    "/v1/models": {"data": [{"id": "a.gguf", "meta": {"n_params": 135, "size": 90}}]},
    "/props": {"build_info": "b8681", "total_slots": 4, "default_generation_settings": {"n_ctx": 8192}},
}


def arm(engine: str, url: str, **more: Any) -> Arm:
    asked = more.pop("target", {})
    target = asked if "urls" in asked else {"url": url} | asked
    claimed = {"weight_format": "bf16", "model": "org/qwen", "engine": engine, "target": target}
    return Arm.model_validate(claimed | more)


def make_certificate(folder: Path) -> Path:
    """A key and the certificate that it signed itself, in one file."""
    both, key = folder / "both.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(both), "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(words, check=True, capture_output=True)
    both.write_text(both.read_text() + key.read_text())
    return both


async def attach(folder: Path, found: Arm) -> RunningArm:
    async with serve_arm("it", found, folder, Limits()) as running:
        return running


def values(running: RunningArm) -> dict[str, Any]:
    (record,) = running.record.replicas
    return {name: fact.value for name, fact in record.facts.items()}


async def test_any_openai_style_service_is_known_by_its_model_alone(tmp_path: Path) -> None:
    with answering(OPENAI) as (url, _):
        running = await attach(tmp_path, arm("openai", url))

    (endpoint,) = running.fleet.endpoints
    assert (endpoint.model, endpoint.path, endpoint.replica) == ("qwen", "/v1/completions", "0")
    assert values(running) == {"max_model_len": 4096}
    assert running.ready_seconds is None
    assert not running.fleet.replicas[0].has_metrics


async def test_sglang_tells_its_pool_and_its_weights(tmp_path: Path) -> None:
    with answering(SGLANG) as (url, _):
        running = await attach(tmp_path, arm("sglang", url))

    assert values(running) == {
        "engine_version": "0.5.4",
        "kv_cache_tokens": 367404,
        "model_memory_gib": 14.3,
        "max_model_len": 4096,
    }
    assert running.fleet.replicas[0].has_metrics


async def test_llamacpp_tells_its_slots(tmp_path: Path) -> None:
    with answering(LLAMACPP) as (url, _):
        running = await attach(tmp_path, arm("llamacpp", url))

    assert values(running) == {
        "engine_version": "b8681",
        "max_num_seqs": 4,
        "max_model_len": 8192,
        "parameters": 135,
        "checkpoint_bytes": 90,
    }


async def test_sixteen_bits_that_the_server_quantises_are_not_what_they_claim(tmp_path: Path) -> None:
    info = SGLANG["/get_server_info"] | {"quantization": "fp8"}  # type: ignore[operator]
    with answering(SGLANG | {"/get_server_info": info}) as (url, _), pytest.raises(ArmMismatch, match="fp8"):
        await attach(tmp_path, arm("sglang", url))


async def test_the_key_comes_from_the_environment_and_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret\n")
    with answering(OPENAI) as (url, seen):
        running = await attach(tmp_path, arm("openai", url, target={"api_key_variable": "MY_KEY"}))

    assert seen[-1]["Authorization"] == "Bearer sk-secret"
    assert running.fleet.endpoints[0].api_key == "sk-secret"
    assert "sk-secret" not in repr(running)


async def test_a_service_that_tells_nobody_without_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    with answering(OPENAI, key="sk-secret") as (url, _):
        running = await attach(tmp_path, arm("openai", url, target={"api_key_variable": "MY_KEY"}))
        with pytest.raises(ServerNotReady) as refused:
            await attach(tmp_path, arm("openai", url))

    assert values(running) == {"max_model_len": 4096}
    assert "the API key is missing or wrong" in refused.value.why


@pytest.mark.parametrize("key", ["", " \n", "two\nlines", "schlüssel"])
async def test_a_key_that_no_header_can_carry_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with answering(OPENAI) as (url, _), pytest.raises(BadInput, match="MY_KEY holds no key") as refused:
        await attach(tmp_path, arm("openai", url, target={"api_key_variable": "MY_KEY"}))

    assert not key.strip() or key not in str(refused.value)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/completions", "/v1/chat/completions"])
async def test_an_address_may_end_as_clients_want_it_and_begin_with_a_prefix(tmp_path: Path, end: str) -> None:
    with answering({"/models/a/v1/models": MODELS}) as (url, _):
        running = await attach(tmp_path, arm("openai", f"{url}/models/a{end}"))

    assert running.fleet.endpoints[0].path == "/models/a/v1/completions"


async def test_a_redirect_is_named_and_not_followed(tmp_path: Path) -> None:
    moved = {"/v1/models": Redirect("https://elsewhere.example/v1/models")}
    with answering(moved) as (url, _), pytest.raises(ServerNotReady) as refused:
        await attach(tmp_path, arm("openai", url))

    assert "redirects to https://elsewhere.example/v1/models" in refused.value.why


async def test_a_certificate_that_nobody_vouches_for_is_named(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with answering(OPENAI, certificate=certificate) as (url, _), pytest.raises(ServerNotReady) as refused:
        await attach(tmp_path, arm("openai", url.replace("http:", "https:")))

    assert "self-signed certificate" in refused.value.why


async def test_plain_http_to_a_server_with_tls_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "_PATIENCE_SECONDS", 0.0)
    with (
        answering(OPENAI, certificate=make_certificate(tmp_path)) as (url, _),
        pytest.raises(ServerNotReady) as refused,
    ):
        await attach(tmp_path, arm("openai", url))

    assert "is it https://?" in refused.value.why


async def test_replicas_of_different_models_are_refused(tmp_path: Path) -> None:
    other = {"/v1/models": {"data": [{"id": "llama"}]}}
    with answering(OPENAI) as (one, _), answering(other) as (two, _), answering(OPENAI) as (three, _):
        with pytest.raises(BadInput, match="serve different models") as refused:
            await attach(tmp_path, arm("openai", one, target={"urls": [one, two]}))
        running = await attach(tmp_path, arm("openai", one, target={"urls": [one, three]}))

    assert "llama" in refused.value.what
    assert len(running.fleet.endpoints) == 2


async def test_a_key_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    with answering(OPENAI) as (url, _), pytest.raises(BadInput, match="NO_SUCH_KEY is not set"):
        await attach(tmp_path, arm("openai", url, target={"api_key_variable": "NO_SUCH_KEY"}))


async def test_a_log_beside_the_server_adds_what_only_it_tells(tmp_path: Path) -> None:
    log = tmp_path / "sglang.log"
    log.write_text(
        "[2026-03-24 16:25:25] Load weight end. elapsed=5.47 s, type=Qwen2ForCausalLM, avail mem=77.91 GB, "
        "mem usage=1.20 GB.\n"
    )
    with answering(SGLANG) as (url, _):
        running = await attach(tmp_path, arm("sglang", url, target={"logs": [str(log)]}))

    fact = running.record.replicas[0].facts["model_memory_gib"]
    assert (fact.value, fact.source) == (1.2, "server log")
    assert fact.line is not None


async def test_one_of_several_models_must_be_named(tmp_path: Path) -> None:
    several = {"/v1/models": {"data": [{"id": "a"}, {"id": "b"}]}}
    with answering(several) as (url, _):
        with pytest.raises(BadInput, match="2 models: a, b"):
            await attach(tmp_path, arm("openai", url))
        running = await attach(tmp_path, arm("openai", url, served_model_name="b"))

    assert running.fleet.endpoints[0].model == "b"


async def test_a_server_that_went_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "_PATIENCE_SECONDS", 0.1)
    async with AsyncExitStack() as stack:
        with answering(SGLANG) as (url, _):
            running = await stack.enter_async_context(serve_arm("it", arm("sglang", url), tmp_path, Limits()))
            assert await running.fleet.death() is None
        death = await running.fleet.death()

    assert death is not None
    assert death.code == "server_hangs"


async def test_nobody_there_is_an_error_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "_PATIENCE_SECONDS", 0.1)
    with pytest.raises(ServerNotReady, match="does not answer"):
        await attach(tmp_path, arm("openai", "http://127.0.0.1:9"))


async def test_an_engine_that_is_never_started_asks_for_a_target(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not start sglang"):
        await attach(tmp_path, Arm(weight_format="bf16", model="m", engine="sglang"))


def test_every_address_form_leads_to_the_same_endpoint() -> None:
    bare, versioned = (Endpoint.of(url, "m", "0") for url in ("http://h:1", "http://h:1/v1/"))

    assert bare == versioned
    assert Endpoint.of("https://api.example.com/openai/v1", "m", None) == Endpoint(
        "api.example.com", 443, "m", None, "/openai/v1/completions", tls=True
    )


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
async def test_a_local_checkpoint_alone_contradicts_a_narrow_claim(tmp_path: Path, engine: str) -> None:
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "vocab_size": 256, "torch_dtype": "bfloat16"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    claim = {"weight_format": "w4a16", "model": str(tmp_path)}
    with answering(SGLANG) as (url, _), pytest.raises(ArmMismatch, match="declares 16-bit linear layers"):
        await attach(tmp_path, arm(engine, url, **claim))


async def test_a_setting_that_the_server_does_not_have_is_a_mismatch(tmp_path: Path) -> None:
    with answering(LLAMACPP) as (url, _):
        await attach(tmp_path, arm("llamacpp", url, max_num_seqs=4))
        with pytest.raises(ArmMismatch, match="the arm says max_num_seqs 16, the server 4"):
            await attach(tmp_path, arm("llamacpp", url, max_num_seqs=16))
