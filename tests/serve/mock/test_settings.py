import pytest

from whichbits.errors import BadInput
from whichbits.serve.mock.settings import MockSettings


def test_options_of_a_study_become_settings() -> None:
    settings = MockSettings.of({"itl_ms": 4, "cadence": "steps", "prefix_cache": True})

    assert (settings.itl_ms, settings.cadence, settings.prefix_cache) == (4, "steps", True)
    assert settings.ttft_ms == MockSettings().ttft_ms


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"itl": 4}, "did you mean 'itl_ms'"),
        ({"itl_ms": "fast"}, "itl_ms"),
        ({"itl_ms": -1}, "below 0"),
        ({"jitter": 1.5}, "more than the whole gap"),
        ({"cadence": "waltz"}, "cadence"),
        ({"cadence": "steps", "itl_ms": 0}, "steps need a length"),
        ({"tokens_per_chunk": 0}, "below 1"),
        ({"faults": "flood"}, "flood"),
        ({"itl_ms": float("nan")}, "itl_ms"),
        ({"itl_ms": float("inf")}, "above"),
        ({"faults": "status=99999"}, "status=99999"),
        ({"faults": "status=100"}, "status=100"),
        ({"faults": "cut=1@150%"}, "cut=1@150%"),
        ({"faults": "cut=1@nan%"}, "cut=1@nan%"),
    ],
)
def test_what_makes_no_server_is_refused(options: dict[str, str | float], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        MockSettings.of(options)

    assert said in str(refused.value)


def test_everything_wrong_is_said_at_once_with_what_may_stand_there() -> None:
    with pytest.raises(BadInput) as refused:
        MockSettings.of({"cadence": "step", "itl": 4, "slots": "many", "jitter": 2})

    assert "cadence: cannot be 'step': one of spread, steps" in refused.value.what
    assert "no option 'itl' (did you mean 'itl_ms'?)" in refused.value.what
    assert "slots: expected `int`" in refused.value.what
    assert "jitter: 2.0 is more than the whole gap" in refused.value.what
    assert "$." not in refused.value.what
