"""Traffic and arrivals as a study writes them, and what is refused before any file is opened."""

import pytest

from tests.study.test_read import GOOD, complaint
from whichbits.study.read import parse_study
from whichbits.study.traffic import shared_prefix_tokens

KIND = "{kind: random}"


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("constant", "constant"),
        ("{kind: gamma, burstiness: 0.5}", "gamma"),
        ("{kind: ramp, start: 0.5, end: 2}", "ramp"),
        ("{kind: stages, stages: [{share: 1, seconds: 20}, {share: 3, seconds: 5}]}", "stages"),
        ("{kind: trace, path: t.csv}", "trace"),
    ],
)
def test_arrivals_are_a_word_or_a_kind_with_its_keys(written: str, kind: str) -> None:
    study = parse_study(GOOD + f"arrivals: {written}\n", "s")

    assert study.arrivals.kind == kind
    assert type(study).model_validate(study.model_dump(mode="json")) == study
    assert parse_study(GOOD, "s").arrivals.kind == "poisson"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("arrivals: poison", "did you mean 'poisson'?"),
        ("arrivals: {kind: gamma, burstines: 2}", "did you mean 'burstiness'?"),
        ("arrivals: {kind: stages, stages: [{share: 1, second: 2}]}", "did you mean 'seconds'?"),
        ("arrivals: {kind: stages, stages: []}", "must not be empty"),
        ("arrivals: {kind: stages, stages: [{share: 0, seconds: 2}]}", "a share above 0"),
        ("arrivals: {kind: ramp, start: 0, end: 0}", "cannot both be 0"),
        ("arrivals: trace", "need a path"),
        ("arrivals: 5", "must be keys with values"),
        ("arrivals: {burstiness: 5}", "must say its `kind`"),
    ],
)
def test_arrivals_that_cannot_be_are_refused(written: str, said: str) -> None:
    assert said in complaint(GOOD + written + "\n")


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        ("{kind: sharegtp, path: x}", "did you mean 'sharegpt'?"),
        ("{kind: sharegpt}", "path: must be given"),
        ("{kind: sharegpt, path: x}", "set request: {prompt: text}"),
        ("{kind: trace, pth: x}", "did you mean 'path'?"),
        ("{kind: sessions, turns: 1, range_ratio: 0.9}", "sessions without a turn"),
        ("{kind: jsonl, path: ''}", "at least 1"),
    ],
)
def test_traffic_that_cannot_be_is_refused(traffic: str, said: str) -> None:
    assert said in complaint(GOOD.replace(KIND, traffic))


def test_a_trace_s_own_times_are_not_those_of_sessions() -> None:
    arrivals = "arrivals: {kind: trace, path: x, speed: 2}\n"

    assert "leave speed out" in complaint(GOOD.replace(KIND, "{kind: sessions}") + arrivals)


def test_a_replay_has_loads_of_its_own() -> None:
    auto = GOOD.replace(KIND, "{kind: run, path: x}").replace(GOOD[GOOD.index("loads:") :], "loads: auto\n")

    assert "at the run's own loads" in complaint(auto)


@pytest.mark.parametrize(
    ("traffic", "tokens"),
    [
        ("{kind: shared_prompt, shared_tokens: 7}", 7),
        ("{kind: prefix_repetition, prefix_tokens: 9}", 9),
        ("{kind: sessions, shared_tokens: 7}", 0),
        ("{kind: random}", 0),
    ],
)
def test_how_long_the_prefix_is_that_requests_share(traffic: str, tokens: int) -> None:
    assert shared_prefix_tokens(parse_study(GOOD.replace(KIND, traffic), "s").traffic) == tokens
