"""Whatever bytes a file holds, ``inspect`` says what it is or that it is nothing known; it never breaks."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whichbits.cli import exit_code
from whichbits.cli.inspected import inspected

VALID = (
    """\
INFO 02-03 04:05:06 [kv_cache_utils.py:9] GPU KV cache size: 77,312 tokens
(Worker_TP0 pid=7) INFO 02-03 04:05:06 [x.py:9] Model loading took 5.25 GiB and 7.5 seconds
INFO 02-03 04:05:06 [core.py:9] Initializing a V1 LLM engine (v0.9.2) with config: model='m', dtype=torch.half,
INFO 02-03 04:05:06 [api.py:9] non-default args: {'model': 'm', 'max_num_seqs': 8}
(APIServer pid=1) INFO 02-03 04:05:06 [loggers.py:1] Engine 000: Avg prompt throughput: 1.5 tokens/s
[2026-02-03 04:05:06 TP0] KV Cache is allocated. #tokens: 490, K size: 2.50 GB, V size: 2.25 GB
[2026-02-03 04:05:06] server_args=ServerArgs(model_path='org/m', tp_size=2, disable_radix_cache=True)
""",
    """\
2026-02-03T04:05:06.1Z  INFO text_generation_launcher: Args { model_id: "m", num_shard: Some(2), }
[TensorRT-LLM][INFO] Using 10718 tokens in paged KV cache.
llama_kv_cache: size =  112.00 MiB (  8192 cells,  28 layers,  4/4 seqs), K (q8_0):   56.00 MiB
prompt eval time =     109.50 ms /    11 tokens (   10.00 ms per token,   100.00 tokens per second)
""",
    """\
# HELP vllm:prompt_tokens_total n
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0"} 9.0
vllm:cache_config_info{block_size="16",num_gpu_blocks="9"} 1.0
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 3
""",
    '{"duration": 2.0, "completed": 4, "request_throughput": 2.0, "request_rate": "inf", "mean_ttft_ms": NaN, "e": 1}',
    """\
============ Serving Benchmark Result ============
Successful requests:   4
Mean TTFT (ms):  2.5
==================================================
""",
    """\
data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"x":1}}

data: [DONE]

: comment
""",
    """\
HTTP/1.1 400 Bad Request
content-type: application/json

{"error":{"message":"no","code":400}}
""",
    '[{"id":"a","conversations":[{"from":"human","value":"hi"},{"from":"gpt","value":"yes"}]}]',
    """\
{"prompt": "why", "output": 3}
{"timestamp": 0, "input_length": 5, "output_length": 6, "hash_ids": [1]}
""",
    """\
Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,GPT,10,20,30,api
""",
    """\
{"arm":"a","replica":"0","cell":1,"phase":"before","time_ns":1,"text":"vllm:prompt_tokens_total 1.0\\n"}
""",
)
ODD = (
    "\x00", "\ud800", "\ufeff", "\r", "\x1b[", "\x1b]0;", "NaN", "Infinity", "-Infinity", "1e999", "9" * 30, "9" * 5000,
    "[" * 3000, '{"a":' * 3000, '"', "'", "\\u0000", "\\ud800", "null", "true", "{}", "[]", "-1", "0", "1.2.3", ",,",
)  # fmt: skip
PIECES = sorted({piece for text in VALID for piece in re.split(r"(\n|(?<=[:,{ ]))", text) if piece})
LINES = sorted({line + "\n" for text in VALID for line in text.splitlines()})

bounded = partial(
    settings, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
spliced = st.lists(st.sampled_from(LINES), min_size=1, max_size=12).map("".join)
broken = st.lists(st.one_of(st.sampled_from(PIECES), st.sampled_from(ODD), st.sampled_from(LINES)), max_size=25)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A whole text, cut at its end and with something odd put in place of a stretch."""
    text = draw(st.sampled_from(VALID))
    start = draw(st.integers(0, len(text)))
    stop = draw(st.integers(start, min(len(text), start + 20)))
    end = draw(st.integers(stop, len(text)))
    return text[:start] + draw(st.sampled_from(ODD)) + text[stop:end]


def check(path: Path, content: bytes) -> None:
    """The file is read for scripts and for people, to an answer or to one known error."""
    path.write_bytes(content)
    found = inspected(path)
    assert (found.inspection is None) == (found.error is not None)
    expected = 0 if found.error is None else 2
    assert exit_code(["inspect", "--json", "--mean-tokens", "100", str(path)]) == expected
    assert exit_code(["inspect", str(path)]) == expected


@bounded(max_examples=30)
@given(content=st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    check(tmp_path / "file", content)


@bounded(max_examples=60)
@given(text=st.one_of(spliced, broken.map("".join), damaged()), name=st.sampled_from(["file", "file.sse", "a.json"]))
def test_any_text(tmp_path: Path, text: str, name: str) -> None:
    check(tmp_path / name, text.encode(errors="surrogatepass"))


@pytest.mark.parametrize("text", VALID)
def test_what_the_fuzzer_starts_from_is_known(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)

    assert inspected(path).inspection is not None


LONG: dict[str, Callable[[int], str]] = {
    "one line without an end": "x".__mul__,
    "one headed line": lambda size: VALID[0][:40] + "y " * (size // 2),
    "a line of settings": lambda size: "INFO 02-03 04:05:06 [a.py:9] non-default args: {'a': " + "(" * size,
    "brackets": "[".__mul__,
    "spaces": lambda size: "a" + " " * size + "b",
    "digits": "9".__mul__,
    "percent signs": "5%|".__mul__,
    "equals signs": "=".__mul__,
    "escapes": "\x1b[".__mul__,
    "an event": lambda size: 'data: {"choices":[{"delta":{"content":"' + "z" * size,
    "labels": lambda size: 'vllm:a{b="' + "c" * size + '"} 1',
    "a quote in a table": lambda size: 'Timestamp,Request tokens,Response tokens\n"' + "1,2\n" * (size // 4),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_line_is_read_in_time_that_grows_with_it(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path / "file", LONG[kind](60_000).encode())
    assert json.loads(capsys.readouterr().out.splitlines()[0]).keys() >= {"kind", "facts", "errors"}


@pytest.mark.parametrize("filler", ["9", "a", " ", "█ ", "deep ", "=", "1,"])
@pytest.mark.parametrize(
    "mark", ["buffer size", "Actual usage is", "(actual)", "version", "across cluster]", "deep_gemm"]
)
def test_no_wording_searches_a_long_line_again_and_again(tmp_path: Path, mark: str, filler: str) -> None:
    check(tmp_path / "file", f"{VALID[0]}{mark} {filler * 30_000} {mark}\n".encode())
