"""A study file is read, completed, and refused with its lines and suggestions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichbits.errors import BadInput
from whichbits.study.model import Study
from whichbits.study.read import parse_study, quickstart, read_study

GOOD = """
name: small
every_arm: {model: m.gguf, options: {threads: 2, kv_cache_gib: 1}}
arms:
  sixteen: {weight_format: fp16}
  four: {weight_format: w4a16, options: {threads: 1}}
traffic: {kind: random}
loads: [1, {concurrency: 4}, {request_rate: 2.5, concurrency: 8}]
"""


def complaint(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse_study(text, "study.yaml")
    return str(caught.value)


def test_the_quickstart_compares_four_arms_at_four_loads() -> None:
    study = quickstart()

    assert list(study.arms) == ["fp16", "w8a8", "w4a16", "w4a8"]
    assert [load.concurrency for load in study.fixed_loads] == [1, 4, 16, 32]


def test_arms_take_the_defaults_and_keep_their_own_options() -> None:
    arms = parse_study(GOOD, "study.yaml").arms

    assert arms["sixteen"].model == arms["four"].model == "m.gguf"
    assert arms["sixteen"].options == {"threads": 2, "kv_cache_gib": 1}
    assert arms["four"].options == {"threads": 1, "kv_cache_gib": 1}


def test_loads_are_written_as_numbers_or_as_mappings() -> None:
    assert [str(load) for load in parse_study(GOOD, "study.yaml").fixed_loads] == ["c1", "c4", "2.5/s cap 8"]


def test_a_resolved_study_reads_back_equal() -> None:
    study = parse_study(GOOD, "study.yaml")

    assert Study.model_validate(study.model_dump(mode="json")) == study


@pytest.mark.parametrize(
    ("wrong", "right", "line"),
    [
        ("weight_format: w4a16", "weight_formt: w4a16", 6),
        ("kind: random", "kind: random, input_tokes: 3", 7),
        ("{concurrency: 4}", "{concurency: 4}", 8),
        ("name: small", "name: small\nrepeat: 2", 3),
        ("{model: m.gguf,", "{modl: m.gguf,", 3),
        ("{model: m.gguf,", "{max_num_seq: 4, model: m.gguf,", 3),
        ("four: {weight_format: w4a16,", "four: {weight_format: w4a16, target: {url: 'http://h:1', log: x},", 6),
        ("four: {weight_format: w4a16,", "four: {weight_format: w4a16, target: {kubernetes: {servce: x}},", 6),
        ("four: {weight_format: w4a16,", "four: {weight_format: w4a16, balance: round-robin,", 6),
        ("kind: random", "kind: randon", 7),
    ],
)
def test_a_misspelt_key_is_named_with_its_line_and_the_right_one(wrong: str, right: str, line: int) -> None:
    said = complaint(GOOD.replace(wrong, right))

    assert f"line {line}:" in said
    assert "did you mean" in said


def test_every_fault_is_said_at_once() -> None:
    said = complaint(GOOD.replace("w4a16", "w3a3").replace("loads: [1,", "loads: [0,"))

    assert "line 6: arms.four.weight_format" in said
    assert "line 8: loads.0.concurrency" in said


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name: a\nname: b\n", "study_key_unusable"),
        ("arms: {a: {weight_format: fp16, weight_format: w4a16}}", "study_key_unusable"),
        ("name: [unclosed", "study_not_yaml"),
        ("- a list", "study_not_a_mapping"),
        ("", "study_not_a_mapping"),
        ("name: a\nevery_arm: 3\narms: 4\n", "study_invalid"),
        ("name: a\narms: {x: fp16}\ntraffic: {kind: poems}\nloads: []\n", "study_invalid"),
        ("name: a\nloads: [{}]\n", "study_invalid"),
        ("a: &a [*a]\n", "study_invalid"),
        ("a: &a {b: *a}\n", "study_invalid"),
        ("? [a]\n: b\n", "study_key_unusable"),
        ("a: 2026-99-99\n", "study_not_yaml"),
        ("a: " + "[" * 5000 + "]" * 5000, "study_not_yaml"),
        ("a: !!python/object:os.system {}\n", "study_not_yaml"),
    ],
)
def test_what_is_no_study_is_refused_with_a_code(text: str, code: str) -> None:
    assert f"[{code}]" in complaint(text)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.yaml", tmp_path):
        with pytest.raises(BadInput, match="cannot be read"):
            read_study(path)


@given(st.text())
def test_no_text_escapes_as_another_error(text: str) -> None:
    """Arbitrary text is no study; whatever is wrong with it is said as BadInput."""
    with pytest.raises(BadInput):
        parse_study(text, "study.yaml")


@pytest.mark.parametrize("place", ["sixteen", "m.gguf", "threads"])
def test_half_a_character_is_refused_wherever_it_is_written(place: str) -> None:
    assert "is not YAML" in complaint(GOOD.replace(place, '"\\ud800"'))
    assert "holds NUL, which no path, variable or command can" in complaint(GOOD.replace(place, '"a\\0b"'))


@pytest.mark.parametrize(("name", "why"), [("''", "needs a name"), ("x" * 181, "too long"), ("가" * 21, "too long")])
def test_a_name_of_an_arm_that_no_file_takes_is_refused(name: str, why: str) -> None:
    assert why in complaint(GOOD.replace("sixteen", name))


@pytest.mark.parametrize("name", ["a/b", "..", "<b>", "네 비트", "x" * 180])
def test_an_arm_may_have_any_other_name(name: str) -> None:
    assert name in parse_study(GOOD.replace("sixteen", name), "s.yaml").arms


def test_a_load_given_twice_is_refused_however_it_is_written() -> None:
    assert "c4 is given twice" in complaint(GOOD.replace("loads: [1,", "loads: [4,"))


def test_settings_stand_beside_the_claim_and_take_defaults() -> None:
    text = GOOD.replace("every_arm: {model: m.gguf,", "every_arm: {model: m.gguf, max_model_len: 4096, replicas: 2,")
    arms = parse_study(text.replace("{weight_format: fp16}", "{weight_format: fp16, max_model_len: 512}"), "s").arms

    assert (arms["sixteen"].settings(), arms["four"].settings()) == ({"max_model_len": 512}, {"max_model_len": 4096})
    assert arms["four"].replicas == 2


def test_a_target_is_an_address_or_several_or_a_service() -> None:
    def target(written: str) -> object:
        text = GOOD.replace("{weight_format: fp16}", f"{{weight_format: fp16, target: {written}}}")
        return parse_study(text, "study.yaml").arms["sixteen"].target

    one, several = target("{url: 'http://a:1'}"), target("{urls: ['http://a:1', 'http://b:1'], logs: [a, b]}")

    assert getattr(one, "urls", None) == ("http://a:1",)
    assert target("'http://a:1'") == one
    assert getattr(several, "logs", None) == ("a", "b")
    assert getattr(target("{kubernetes: {service: s}}"), "urls", None) == ()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("target: {}", "either urls or a kubernetes service"),
        ("target: {urls: ['http://a:1'], logs: [a, b]}", "as many as urls"),
        ("target: 'http://a:1', replicas: 2", "servers that whichbits starts"),
        ("target: {kubernetes: {service: s}}, gpus: [0]", "servers that whichbits starts"),
    ],
)
def test_a_target_that_makes_no_sense_says_why(more: str, why: str) -> None:
    assert why in complaint(GOOD.replace("{weight_format: fp16}", f"{{weight_format: fp16, {more}}}"))


def test_replicas_of_a_service_are_the_pods_to_wait_for() -> None:
    text = GOOD.replace(
        "{weight_format: fp16}", "{weight_format: fp16, target: {kubernetes: {service: s}}, replicas: 2}"
    )

    assert parse_study(text, "study.yaml").arms["sixteen"].replicas == 2


def test_servers_that_run_already_are_not_restarted() -> None:
    text = GOOD.replace("{weight_format: fp16}", "{weight_format: fp16, target: 'http://a:1'}")

    assert "restarts no servers" in complaint(f"{text}\ncache: restart\n")


@pytest.mark.parametrize(
    ("written", "loads", "seconds"),
    [
        ("true", ["c1", "2.5/s cap 8"], 2.0),
        ("{seconds: 0.5}", ["c1", "2.5/s cap 8"], 0.5),
        ("{loads: [4]}", ["c4"], 2.0),
        ("{loads: [{request_rate: 2.5, concurrency: 8}]}", ["2.5/s cap 8"], 2.0),
    ],
)
def test_the_lowest_and_the_highest_load_are_profiled_unless_others_are_named(
    written: str, loads: list[str], seconds: float
) -> None:
    study = parse_study(f"{GOOD}profile: {written}\n", "study.yaml")

    assert [str(load) for load in study.profiled_loads] == loads
    assert study.profile is not None
    assert study.profile.seconds == seconds
    assert Study.model_validate(study.model_dump(mode="json")) == study


def test_nothing_is_profiled_that_is_not_asked_for() -> None:
    for text in (GOOD, f"{GOOD}profile: false\n"):
        assert parse_study(text, "study.yaml").profiled_loads == ()


def test_a_load_that_is_not_measured_is_not_profiled() -> None:
    assert "profile: c32 is not among the loads" in complaint(f"{GOOD}profile: {{loads: [32]}}\n")
    assert "did you mean 'seconds'" in complaint(f"{GOOD}profile: {{second: 1}}\n")


def test_defaults_for_a_start_pass_by_arms_that_run_already() -> None:
    defaults = "{model: m.gguf, gpus: [1], python: /opt/python, replicas: 2, options: {threads: 2}, dtype: half}"
    running = GOOD.replace("{model: m.gguf, options: {threads: 2, kv_cache_gib: 1}}", defaults)
    arm = parse_study(running.replace("{weight_format: fp16}", "{weight_format: fp16, target: 'http://h:1'}"), "s")

    sixteen, four = arm.arms["sixteen"], arm.arms["four"]
    assert (sixteen.gpus, sixteen.python, sixteen.replicas, sixteen.options, sixteen.dtype) == (
        None,
        None,
        1,
        {},
        "half",
    )
    assert (four.gpus, four.replicas, four.options) == ((1,), 2, {"threads": 1})


@pytest.mark.parametrize("key", ["options: {threads: 1}", "environment: {A: b}", "gpus: [0]", "replicas: 2"])
def test_what_only_a_start_applies_is_refused_of_a_running_arm(key: str) -> None:
    text = GOOD.replace("{weight_format: fp16}", "{weight_format: fp16, target: 'http://h:1', " + key + "}")

    assert f"{key.partition(':')[0]}" in complaint(text)
    assert "for servers that whichbits starts" in complaint(text)


def test_a_fault_in_what_arms_share_is_said_once_and_in_its_place() -> None:
    said = complaint(GOOD.replace("{model: m.gguf,", "{modl: m.gguf, dtype: [1],"))

    assert "line 3: every_arm.modl: unknown key; did you mean 'model'?" in said
    assert "line 3: every_arm.dtype: must be text" in said
    assert "arms." not in said


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("gpus: all", "gpus: must be a list, such as [0, 1]"),
        ("gpus: [-1]", "gpus.0: must be greater than or equal to 0"),
        ("gpus: [0, 0], tensor_parallel_size: 2", "replica 0 needs 2 GPUs (tensor_parallel_size) and would"),
        ("gpus: [0, 1, 2], tensor_parallel_size: 4", "replica 0 needs 4 GPUs (tensor_parallel_size) and would"),
        ("gpus: []", "gpus: must not be empty"),
        ("max_num_seqs: many", "max_num_seqs: must be a whole number"),
        ("enforce_eager: 7", "enforce_eager: must be true or false"),
        ("options: {a: {b: 1}}", "options.a: must be text, a number, true or false"),
        ("environment: {A: [1]}", "environment.A: must be text or a number, since"),
        ("environment: {A: }", "environment.A: must be text or a number; write '' for an empty text"),
        ("kv_cache_gib: 0", "kv_cache_gib: must be greater than 0"),
        ("kv_cache_gib: lots", "kv_cache_gib: must be a number"),
        ("kv_cache_gib: .inf", "kv_cache_gib: must be a finite number"),
        ("price_per_hour: .inf", "price_per_hour: must be a finite number"),
        ("target: 7", "target: must be keys with values, such as {key: value}"),
    ],
)
def test_what_does_not_belong_is_told_in_plain_words(wrong: str, words: str) -> None:
    said = complaint(GOOD.replace("{weight_format: fp16}", "{weight_format: fp16, " + wrong + "}"))

    assert f"line 5: arms.sixteen{': ' if words.startswith('replica') else '.'}{words}" in said
    assert said.count("line 5:") == 1


def test_variables_are_the_text_that_the_study_holds() -> None:
    variables = "{VLLM_CPU_KVCACHE_SPACE: 1, A: true, B: 1.50, C: yes, D: 0x1F, E: 2026-01-02}"
    arms = parse_study(GOOD.replace("{model: m.gguf,", "{model: m.gguf, environment: " + variables + ","), "s").arms

    written = {"VLLM_CPU_KVCACHE_SPACE": "1", "A": "true", "B": "1.50", "C": "yes", "D": "0x1F", "E": "2026-01-02"}
    assert arms["four"].environment == written


def test_one_gpu_or_address_is_a_list_of_one() -> None:
    text = GOOD.replace("{weight_format: fp16}", "{weight_format: fp16, gpus: 0}")
    running = "{weight_format: fp16, target: {urls: 'http://h:1', logs: a.log}}"
    target = parse_study(GOOD.replace("{weight_format: fp16}", running), "s").arms["sixteen"].target

    assert parse_study(text, "s").arms["sixteen"].gpus == (0,)
    assert target is not None
    assert (target.urls, target.logs) == (("http://h:1",), ("a.log",))


def test_faults_come_in_the_order_of_the_file_and_a_misspelt_key_is_not_missing_as_well() -> None:
    wrong = """name: wrong
arms: {a: {weight_format: fp99, model: m}}
trafic: {kind: chat}
loads: [1]
repeats: two
slo: {ttft: 3}
"""

    found = [line.strip() for line in complaint(wrong).splitlines() if line.strip().startswith("line ")]

    assert [line.partition(":")[0] for line in found] == ["line 2", "line 3", "line 5", "line 6"]
    assert found[1] == "line 3: trafic: unknown key; did you mean 'traffic'?"
    assert found[2] == "line 5: repeats: cannot be 'two': a whole number, such as 3, or auto"


def test_a_key_that_is_missing_is_named_beside_an_unknown_one_that_means_another() -> None:
    found = complaint("name: wrong\narms: {a: {weight_format: fp16, model: m}}\nload: [1]\nbudgt: 5\n")

    assert "traffic: must be given" in found
    assert "loads: must be given" not in found
