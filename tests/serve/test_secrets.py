"""Secrets are starred by their names and by how they look; what only sounds like one is kept."""

import pytest

from whichbits.serve.secrets import command_without_secrets, is_secret_option, without_secrets


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("API_KEYS", "x"),
        ("DB_PASSWD", "x"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "x"),
        ("HTTPS_PROXY", "http://me:secret@proxy:3128"),
        ("EXTRA", "--token hf_abcdefghijklmnopqrstuvwxyz"),
    ],
)
def test_a_secret_is_starred(name: str, value: str) -> None:
    assert without_secrets({name: value}) == {name: "***"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VLLM_MAX_TOKENS_PER_EXPERT_FP4_MOE", "163840"),
        ("HTTPS_PROXY", "http://proxy:3128"),
        ("HF_ENDPOINT", "https://mirror.example:8443/a@b"),
        ("KEYBOARD", "de"),
    ],
)
def test_what_only_sounds_like_one_is_kept(name: str, value: str) -> None:
    assert without_secrets({name: value}) == {name: value}


def test_a_command_is_starred_by_flag_and_by_value() -> None:
    command = ("vllm", "--api-key", "a", "--hf-token=b", "--max-num-batched-tokens", "512", "http://u:p@h/")

    assert command_without_secrets(command) == (
        "vllm", "--api-key", "***", "--hf-token=***", "--max-num-batched-tokens", "512", "http***h/",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("exec vllm serve m --api-key a1 --port 80", "exec vllm serve m --api-key *** --port 80"),
        ("vllm serve m --hf_token=a1; sleep 1", "vllm serve m --hf_token=***; sleep 1"),
        ("vllm serve m --max-num-batched-tokens 512", "vllm serve m --max-num-batched-tokens 512"),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz vllm", "HF_TOKEN=*** vllm"),
    ],
)
def test_a_shells_text_is_starred_within(script: str, shown: str) -> None:
    assert command_without_secrets(("sh", "-c", script)) == ("sh", "-c", shown)


@pytest.mark.parametrize(
    ("name", "secret"), [("api_key", True), ("--hf-token", True), ("max_num_batched_tokens", False)]
)
def test_options_are_judged_by_their_names(name: str, secret: bool) -> None:
    assert is_secret_option(name, 1) is secret
