"""The probes at sizes of a few milliseconds: units and counting, not speed."""

import itertools

import pytest

from whichbits.hardware import probe


def ticking(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """A clock on which every timing takes ``seconds``."""
    ticks = itertools.count(step=seconds)
    monkeypatch.setattr("whichbits.hardware.probe.perf_counter", lambda: next(ticks))


def test_add_counts_two_reads_and_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch, 0.5)

    assert probe.add_bandwidth_gb_s(array_bytes=8_000_000, rounds=3) == pytest.approx(3 * 0.008 / 0.5)


def test_gemm_counts_a_multiplication_and_an_addition_each(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch, 0.5)

    assert probe.gemm_tflops(size=100, rounds=3) == pytest.approx(2e6 / 0.5 / 1e12)


def test_the_best_round_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr("whichbits.hardware.probe.perf_counter", lambda: next(stamps))

    assert probe.gemm_tflops(size=10, rounds=3) == pytest.approx(2e3 / 1.0 / 1e12)


def test_the_processor_has_a_name() -> None:
    assert probe.processor_name()
