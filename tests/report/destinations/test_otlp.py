"""What a collector receives is what the run holds, in OpenTelemetry's own messages."""

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.record.make_run import MS, TWO_ARMS, PowerLaw, SyntheticArm, make_run
from tests.report.destinations.collector import Collector, collecting
from whichbits.analyze.summarize import summarize
from whichbits.cli import exit_code
from whichbits.errors import BadInput
from whichbits.record.run import Run
from whichbits.report.destinations.destination import send_run

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    arms = TWO_ARMS | {"broken": SyntheticArm(tpot_ms=PowerLaw(10.0), failed_requests=1)}
    return Run.load(make_run(tmp_path_factory.mktemp("runs"), arms, loads=(1, 4)))


def sent(run: Run) -> Collector:
    with collecting() as collector:
        list(send_run(run, "otlp", collector.endpoint))
    return collector


def told(span: Span) -> dict[str, object]:
    return {each.key: getattr(each.value, str(each.value.WhichOneof("value"))) for each in span.attributes}


def test_a_cell_is_a_trace_and_a_request_a_span_in_it(run: Run) -> None:
    spans = sent(run).spans
    roots = [span for span in spans if not span.parent_span_id]

    assert len(roots) == len({span.trace_id for span in spans}) == 6
    assert len(spans) == 6 + run.requests.num_rows
    assert len({span.span_id for span in spans}) == len(spans)
    parents = {span.trace_id: span.span_id for span in roots}
    assert all(span.parent_span_id == parents[span.trace_id] for span in spans if span.parent_span_id)
    assert [span.name for span in roots][:2] == ["cell bf16 c1", "cell bf16 c4"]


def test_a_span_has_the_times_and_tokens_of_its_request(run: Run) -> None:
    span = next(span for span in sent(run).spans if span.parent_span_id)
    origin, record = run.manifest.origin_unix_ns, run.records(0)[0]

    assert span.start_time_unix_nano == origin + record.scheduled_ns
    assert span.end_time_unix_nano == origin + (record.finished_ns or 0)
    # bf16 at one stream: the first token 20 ms after the schedule, ten more each 12 ms later.
    moments = {event.name: event.time_unix_nano - span.start_time_unix_nano for event in span.events}
    assert moments == {"sent": 1 * MS, "first_token": 20 * MS, "last_token": 140 * MS}
    attributes = told(span)
    assert attributes["gen_ai.usage.input_tokens"] == 100
    assert attributes["gen_ai.usage.output_tokens"] == 11
    assert attributes["gen_ai.request.model"] == "synthetic-135m"
    assert (attributes["whichbits.arm"], attributes["whichbits.concurrency"]) == ("bf16", 1)


def test_a_failed_request_is_an_error_with_its_code(run: Run) -> None:
    failed = [span for span in sent(run).spans if told(span).get("error.type")]

    assert {span.status.code for span in failed} == {2}
    assert [told(span)["error.type"] for span in failed] == ["connection_lost"] * 2


def test_a_metric_has_a_point_for_each_cell(run: Run) -> None:
    metrics = sent(run).metrics
    points = metrics["whichbits.tpot_ms.p50"].gauge.data_points

    expected = [cell.tpot_ms.p50 for cell in summarize(run).cells]
    assert [point.as_double for point in points] == pytest.approx(expected)
    assert metrics["whichbits.tpot_ms.p50"].unit == "ms"
    assert metrics["whichbits.output_tokens_per_s"].unit == "1/s"
    assert "whichbits.cell" not in metrics


def test_what_is_sent_twice_is_the_same(run: Run) -> None:
    assert [span.SerializeToString() for span in sent(run).spans] == [
        span.SerializeToString() for span in sent(run).spans
    ]


def test_the_command_says_what_arrived_where(run: Run, capsys: Captured) -> None:
    with collecting() as collector:
        assert exit_code(["export", str(run.folder), "--to", "otlp", "--endpoint", collector.endpoint + "/"]) == 0
    first, second = capsys.readouterr().out.splitlines()

    assert first == f"otlp: {len(collector.spans)} spans to {collector.endpoint}/v1/traces"
    assert second == f"otlp: {len(collector.metrics)} metrics to {collector.endpoint}/v1/metrics"


def test_a_collector_that_refuses_is_told_once(run: Run, capsys: Captured) -> None:
    with collecting(status=401) as collector:
        assert exit_code(["export", str(run.folder), "--to", "otlp", "--endpoint", collector.endpoint]) == 2
    error = capsys.readouterr().err

    assert "destination_refused" in error
    assert "Failed to export" not in error


def test_nobody_listening_is_bad_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    with collecting() as collector:
        pass
    with pytest.raises(BadInput) as caught:
        list(send_run(run, "otlp", collector.endpoint))
    assert caught.value.code == "destination_refused"
