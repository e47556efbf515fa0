"""Whatever stands in front of or around a log line, what it says stays the same; no text is too odd to read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.serve.logs.lines import Writer, read_lines
from whichbits.serve.logs.read import recognise

SAID = "GPU KV cache size: 77,312 tokens"
HEADED = f"INFO 02-03 04:05:06 [kv_cache_utils.py:9] {SAID}"
PREFIXES = st.sampled_from(
    [
        "(EngineCore_DP0 pid=31) ",
        "(ServeReplica:shop:LLM:v1 pid=8) ",
        "(RayWorkerProc pid=32, ip=10.1.2.3) ",
        "\x1b[1;36m(Worker_TP0 pid=33)\x1b[0;0m ",
        "server-1  | ",
        "2026-02-03T04:05:06.123456789Z ",
        "2026-02-03T04:05:06+00:00 stdout F ",
        "Feb  3 04:05:06 node7 vllm[4711]: ",
        "[rank0]: ",
        "> ",
        "Loading shards:  50% Completed | 1/2 [00:01<00:01,  1.10s/it]",
        "Capturing CUDA graphs: 100%|\u2588\u2588| 4/4 [00:01<00:00, 3.10it/s]",
    ]
)
COLOURED = st.sampled_from(["{}", "\x1b[36m{}\x1b[0m", "[0;36m{}[0m", "\x1b]0;title\x07{}"])
AROUND = st.sampled_from(["{}", "\r{}", "{}\r", "bar:  10%|#  | 1/9 [00:01<00:09, 1.1it/s]\r{}", "\r\n{}\r\n"])


@given(prefixes=st.lists(PREFIXES, max_size=5), colour=COLOURED, around=AROUND)
def test_a_fact_survives_all_that_stands_around_its_line(prefixes: list[str], colour: str, around: str) -> None:
    text = around.format("".join(prefixes) + colour.format(HEADED)) + "\n"

    inspection = recognise("any.txt", text)

    assert inspection is not None
    assert inspection.engine == "vllm"
    assert inspection.facts["kv_cache_tokens"] == 77312
    assert SAID in inspection.lines["kv_cache_tokens"]


def test_the_last_process_in_front_of_a_line_wrote_it() -> None:
    (line,) = read_lines(f"(EngineCore_2 pid=5) (VllmWorker TP1 pid=6) {HEADED} [repeated 3x across cluster]\n")

    assert line.text == SAID
    assert line.innermost == Writer("VllmWorker TP1", 6)
    assert line.level == "INFO"


def test_sglang_names_the_rank_behind_the_time() -> None:
    (line,) = read_lines("[2026-02-03 04:05:06 DP1 TP3] Memory pool end.\n")

    assert (line.text, line.innermost) == ("Memory pool end.", Writer("DP1 TP3", None))


def test_a_json_logger_says_the_same() -> None:
    (line,) = read_lines('{"levelname": "ERROR", "processName": "EngineCore", "process": 5, "message": "it broke"}\n')

    assert (line.text, line.level, line.innermost) == ("it broke", "ERROR", Writer("EngineCore", 5))


def test_an_error_answer_in_json_is_no_log() -> None:
    assert recognise("answer.json", '{"object": "error", "message": "The model `vllm` does not exist"}') is None


def test_lines_without_words_say_nothing() -> None:
    assert read_lines("(Worker pid=4) \n\n\x1b[0m\r\nLoading: 9%|# | 1/9 [00:01<00:09, 1.1s/it]\n") == ()


def test_a_wrapped_line_is_read_whole() -> None:
    broken_anywhere = f"{HEADED[:60]}\n{HEADED[60:]}\n"
    broken_at_a_blank = f"{HEADED.replace(' tokens', '')}\ntokens\n"

    for text in (broken_anywhere, broken_at_a_blank):
        inspection = recognise("any.txt", text)
        assert inspection is not None
        assert inspection.facts["kv_cache_tokens"] == 77312


def test_a_value_that_the_end_of_the_text_cuts_is_unknown() -> None:
    inspection = recognise("any.txt", f"{HEADED}\nINFO 02-03 04:05:07 [model.py:1] Resolved architecture: Qwen2For")

    assert inspection is not None
    assert inspection.facts == {"kv_cache_tokens": 77312}


PIECES = st.sampled_from(
    ["INFO a.py:1] ", "INFO 12:00:00 [embedded] ", "(Worker pid=1) ", "[2026-01-01 00:00:00 TP0] ", "[TensorRT-LLM] ",
     "args: Namespace(", "server_args=ServerArgs(", "Args {", "{'a': ", "=", ",", "'", ")", "a=b", "\r", "\n", "\x1b[",
     '{"level":"x","message":"', '"}', "KV cache size: ", " tokens", "Model loading took ", " GiB and ", "1.2.3",
     ",,", "7,3", "9" * 5000, "100%|", "K size: ", " GB, V size: ", " GB", "Capture cuda graph bs [1 2, ]", " MiB",
     "Profiling CUDA graph memory: A=x9", "CUDA0 KV buffer size = ", "llama_context: n_ctx = "]
)  # fmt: skip


@given(text=st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=30).map("".join)))
def test_any_text_can_be_read(text: str) -> None:
    inspection = recognise("any.txt", text)

    assert inspection is None or inspection.kind in ("startup_log", "request_log")


def test_lines_that_two_processes_wrote_at_once_are_two() -> None:
    text = f"(Worker_TP0 pid=6) {HEADED}(Worker_TP1 pid=7) {HEADED}{HEADED}\n"

    lines = read_lines(text)

    assert [(line.text, line.innermost) for line in lines] == [
        (SAID, Writer("Worker_TP0", 6)),
        (SAID, Writer("Worker_TP1", 7)),
        (SAID, None),
    ]


def test_a_head_with_a_year_is_one_too() -> None:
    (line,) = read_lines(f"{HEADED.replace('INFO ', 'INFO 2026-')}\n")

    assert (line.text, line.headed) == (SAID, True)


@pytest.mark.parametrize(
    "line",
    [
        "INFO 11-29 15:01:21 [utils.py:233] non-default args: {'api_key': ['s3cret', 's3cret'], 'port': 1}",
        "INFO 11-29 15:01:21 [utils.py:233] non-default args: {'hf_token': 's3cret', 'port': 1}",
        "INFO 11-29 15:01:21 api_server.py:9] args: Namespace(api_key='s3cret', port=1)",
        "INFO 11-29 15:01:21 api_server.py:9] args: Namespace(api_key=['s3cret, cut",
        "[2026-03-24 16:25:25] server_args=ServerArgs(model_path='m', api_key='s3cret', admin_api_key='s3cret')",
        "{\"message\": \"args: {'ssl_keyfile_password': 's3cret'}\"}",
        "vllm serve m --api-key s3cret --port 1",
        "INFO 11-29 15:01:21 [x.py:1] started as ['vllm', 'serve', '--api-key', 's3cret']",
    ],
)
def test_a_key_among_arguments_is_not_shown(line: str) -> None:
    (found,) = read_lines(f"{line}\n")

    assert "s3cret" not in found.shown
    assert "***" in found.shown


@pytest.mark.parametrize(
    "line",
    [
        "INFO 11-29 15:01:21 [utils.py:233] args: Namespace(api_key=None, hf_token=None, max_num_batched_tokens=512)",
        "INFO 11-29 15:01:21 [x.py:1] the password that nobody gave, and a secret sauce",
        "INFO 11-29 15:01:21 [x.py:1] eos_token: </s>, Avg prompt throughput: 12.0 tokens/s",
    ],
)
def test_other_lines_are_shown_as_they_are(line: str) -> None:
    assert [found.shown for found in read_lines(f"{line}\n")] == [line]
