"""What a report tells of how a run came to be is short, and a study file again."""

from dataclasses import replace

from tests.report.make_summary import make_manifest
from whichbits.report.provenance import study_yaml
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
