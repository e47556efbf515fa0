"""Models that have to be fetched: what the hub answers, and room for them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from whichbits.doctor.diagnosis import Diagnosis
from whichbits.doctor.hub import check_hub
from whichbits.study.arm import Arm

ARM = Arm(weight_format="bf16", model="Qwen/Qwen2.5-7B-Instruct", engine="vllm")
NOBODY_LISTENS = "http://127.0.0.1:9"


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture(autouse=True)
def _no_settings_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "HF_HUB_OFFLINE",
        "HF_TOKEN",
        "HF_HUB_CACHE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))


@contextmanager
def hub(status: int, code: str = "") -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Serve as the hub does, with one answer for all; yield the address, and what was asked with which token."""
    asked: list[tuple[str, str | None]] = []

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append((self.path, self.headers.get("Authorization")))
            self.send_response(status)
            if code:
                self.send_header("X-Error-Code", code)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def said(monkeypatch: pytest.MonkeyPatch, address: str, model: str = ARM.model) -> list[Diagnosis]:
    monkeypatch.setenv("HF_ENDPOINT", address)
    return list(check_hub("arm a", ARM.model_copy(update={"model": model})))


def test_a_model_that_will_be_fetched_is_asked_for_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, 2**50))
    with hub(307) as (address, asked):
        found = said(monkeypatch, address)
    assert [(each.code, each.state) for each in found] == [("hub", "good")]
    assert asked == [("/Qwen/Qwen2.5-7B-Instruct/resolve/main/config.json", "Bearer hf_secret")]
    assert "hf_secret" not in str(found)


def test_no_room_for_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, 10 * 2**30))
    with hub(200) as (address, _):
        found = {each.code: each for each in said(monkeypatch, address)}
    assert found["disk_low"].state == "problem"
    assert "about 14.2 GiB of weights" in found["disk_low"].found


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "GatedRepo", "hub_gated"),
        (403, "GatedRepo", "hub_gated"),
        (401, "RepoNotFound", "hub_no_model"),
        (401, "", "hub_no_model"),
        (404, "RevisionNotFound", "hub_no_model"),
        (404, "EntryNotFound", "hub"),
    ],
)
def test_what_the_hub_refuses(monkeypatch: pytest.MonkeyPatch, status: int, code: str, expected: str) -> None:
    with hub(status, code) as (address, _):
        assert said(monkeypatch, address)[0].code == expected


def test_a_token_that_has_no_access(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_saved\n")
    with hub(403) as (address, asked):
        found = said(monkeypatch, address)[0]
    assert (found.code, asked[0][1]) == ("hub_gated", "Bearer hf_saved")
    assert found.found.endswith("the token's account has none")


def test_a_hub_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = said(monkeypatch, NOBODY_LISTENS)
    assert [(each.code, each.state) for each in found] == [("hub_unreachable", "problem")]
    assert str(Path.cwd()) in (found[0].why or "")


def test_a_hub_that_may_not_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert [each.code for each in said(monkeypatch, NOBODY_LISTENS)] == ["hub_offline"]


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("models/qwen2.5-7b-fp16", "model_folder_missing"),
        ("checkpoints/qwen2.5-7b-fp16", "model_folder_missing"),
        ("Qwen/Qwen2.5-7B-Instruct", "hub_unreachable"),
        ("gpt2", "hub_unreachable"),
    ],
)
def test_a_folder_that_is_not_there_is_told_as_one(
    model: str, code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "checkpoints").mkdir()
    monkeypatch.chdir(tmp_path)
    (found,) = said(monkeypatch, NOBODY_LISTENS, model)

    assert (found.code, found.state) == (code, "problem")
    if code == "model_folder_missing":
        assert found.found == f"there is no folder {model} in {tmp_path}"
        assert found.why == f"so it is taken for a name on the Hugging Face hub, and {NOBODY_LISTENS} cannot be reached"


@pytest.mark.parametrize(
    ("status", "code"), [(404, "model_folder_missing"), (401, "model_folder_missing"), (307, "hub")]
)
def test_what_the_hub_has_is_fetched_though_a_folder_is_called_like_its_owner(
    status: int, code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "Qwen").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, 2**50))
    with hub(status) as (address, _):
        assert [each.code for each in said(monkeypatch, address)] == [code]


def test_a_folder_that_is_not_there_needs_no_hub_to_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (found,) = said(monkeypatch, NOBODY_LISTENS, "models/qwen2.5-7b-fp16")

    assert found.code == "model_folder_missing"
    assert (found.why or "").endswith("HF_HUB_OFFLINE forbids to fetch it")
