"""What is counted of requests is what their records say."""

from dataclasses import replace
from statistics import median

from tests.record.make_run import failed, record
from whichbits.drive.crew.tally import SAMPLE, Sample, Tally, together


def test_counts_are_those_of_the_records() -> None:
    """Two answers of 5 tokens with 40 ms gaps, and a failure that had sent nothing back."""
    records = [record(ttft_ms=100, tpot_ms=40, n=5), record(ttft_ms=300, tpot_ms=20, n=5)]
    broken = replace(failed(record()), chunk_ns=(), chunk_tokens=(), error="gone")
    tally = Tally()
    tally.add([*records, broken])

    assert tally.requests == 3
    assert tally.failed == 1
    assert tally.errors[broken.error_code or ""] == 1
    assert tally.first_error == "gone"
    assert tally.output_tokens == 10
    assert tally.gaps == 8
    assert tally.gap_span_ns == 4 * 40_000_000 + 4 * 20_000_000
    assert tally.ttft_ns.values == [100e6, 300e6]
    assert tally.tpot_ns.values == [40e6, 20e6]


def test_tallies_add_up() -> None:
    one, two = Tally(), Tally()
    one.add([record(), failed(record())])
    two.add([record(n=3)])
    both = Tally()
    both.add([record(), failed(record()), record(n=3)])

    assert together([one, two]) == both
    assert together([]) == Tally()


def test_a_sample_is_all_of_a_few_values() -> None:
    sample = Sample()
    for value in range(SAMPLE):
        sample.add(value)

    assert sample.values == list(range(SAMPLE))


def test_a_sample_of_many_values_is_bounded_and_has_their_median() -> None:
    sample = Sample()
    for value in range(1_000_000):
        sample.add(value)

    assert SAMPLE / 2 <= len(sample.values) <= SAMPLE
    assert abs(median(sample.values) / 500_000 - 1) < 0.005


def test_what_the_users_stop_cut_off_has_neither_failed_nor_been_served() -> None:
    tally = Tally()
    tally.add([record(), failed(record()), replace(failed(record()), error_code="cancelled")])

    assert (tally.requests, tally.served, tally.failed) == (3, 1, 1)
