"""Growth of counters over a cell, by replica and engine core, out of the scrapes around it."""

from whichbits.analyze.engine.counted import counted
from whichbits.record.scrapes import Phase, Scrape


def scrape(phase: Phase, time_ns: int, text: str, cell: int | None = 0, replica: str = "0") -> Scrape:
    return Scrape("bf16", replica, cell, phase, time_ns, text)


def said(*tokens: int, queue: int | None = None, running: int = 0) -> str:
    """A scrape of cores that generated so many tokens, and whose queue times were observed so often."""
    lines = [f'vllm:generation_tokens_total{{engine="{core}"}} {count}' for core, count in enumerate(tokens)]
    lines += [f'vllm:num_requests_running{{engine="0"}} {running}']
    if queue is not None:
        name = "vllm:request_queue_time_seconds"
        lines += [
            f'{name}_bucket{{le="0.5"}} {queue}',
            f'{name}_bucket{{le="+Inf"}} {queue}',
            f"{name}_sum {queue / 4}",
        ]
    return "\n".join(lines) + "\n"


def test_each_core_and_their_sum_grow_from_before_to_after() -> None:
    scrapes = [scrape("before", 0, said(10, 20, queue=2)), scrape("after", 9, said(15, 40, queue=6))]

    found = counted(scrapes)[0]["0"]

    assert found.total.generation_tokens == 25
    assert {label: core.generation_tokens for label, core in found.engines.items()} == {"0": 5, "1": 20}
    assert (found.histograms["queue"].count, found.histograms["queue"].mean) == (4, 0.25)
    assert list(found.histograms) == ["queue"]


def test_the_states_in_between_are_kept_with_their_times() -> None:
    scrapes = [
        scrape("before", 0, said(0)),
        scrape("during", 5, said(3, running=2)),
        scrape("during", 10, said(6, running=4)),
        scrape("after", 15, said(9)),
    ]

    during = counted(scrapes)[0]["0"].during

    assert [(moment.time_ns, moment.counters.requests_running) for moment in during] == [(5, 2), (10, 4)]


def test_a_core_that_restarted_within_the_cell_has_no_growth_even_if_it_passed_its_old_count() -> None:
    scrapes = [
        scrape("before", 0, said(100, 10, queue=2)),
        scrape("during", 5, said(3, 20)),
        scrape("after", 9, said(120, 30, queue=9)),
    ]

    found = counted(scrapes)[0]["0"]

    assert found.restarted == ("0",)
    assert found.total.generation_tokens is None
    assert {label: core.generation_tokens for label, core in found.engines.items()} == {"0": None, "1": 20}
    assert found.histograms == {}


def test_the_last_beginning_of_a_cell_counts_and_unfinished_ones_are_left_out() -> None:
    scrapes = [
        scrape("before", 0, said(10)),
        scrape("before", 5, said(30)),
        scrape("after", 9, said(31)),
        scrape("before", 20, said(40), cell=1),
        scrape("during", 21, said(40), cell=None),
    ]

    found = counted(scrapes)

    assert found[0]["0"].total.generation_tokens == 1
    assert list(found) == [0]


def test_a_scrape_of_no_engine_is_silence() -> None:
    found = counted([scrape("before", 0, "up 1\n"), scrape("after", 1, "up 1\n")])[0]["0"]

    assert (found.total.generation_tokens, found.engines, found.histograms) == (None, {}, {})
