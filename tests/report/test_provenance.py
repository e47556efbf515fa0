"""What a report tells of how a run came to be is short, and a study file again."""

from dataclasses import replace

from tests.report.make_summary import make_manifest, make_summary
from whichbits.report.provenance import client_rows, study_yaml
from whichbits.study.model import Study
from whichbits.study.read import parse_study, quickstart


def test_the_study_reads_back_equal_and_names_nothing_that_is_not_set() -> None:
    study = quickstart()
    written = study_yaml(replace(make_manifest(), study=study.model_dump(mode="json")))

    assert "null" not in written
    assert "every_arm" not in written
    again = parse_study(written, "study.yaml")
    unset = {"every_arm": Study.model_fields["every_arm"].default}
    assert again == study.model_copy(update=unset)


def test_cells_sent_from_several_machines_say_how_far_their_clocks_may_be_off() -> None:
    manifest, summary = make_manifest(), make_summary()
    alone, *others = manifest.cells
    assert alone.client is not None
    far = replace(alone, client=replace(alone.client, clock_error_ms=0.12, clock_drift_ms=0.03))

    first, second, *_ = client_rows(summary, replace(manifest, cells=(far, *others)))

    (said,) = first.remarks
    assert said.endswith("the worst of their clocks may be off by 0.12 ms, and moved by 0.03 ms during the cell")
    assert second.remarks == ()
