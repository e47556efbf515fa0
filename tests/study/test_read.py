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
