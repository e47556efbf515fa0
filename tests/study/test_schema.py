"""The schema that editors use is the model's, and is the one that is published."""

import json
from pathlib import Path

from whichbits.study.schema import keys_at, study_schema

ROOT = Path(__file__).parents[2]


def test_the_published_schema_is_current() -> None:
    published = json.loads((ROOT / "docs/study.schema.json").read_text())

    assert published == study_schema(), "run `make schema`"


def test_keys_are_found_through_maps_unions_lists_and_optionals() -> None:
    schema = study_schema()

    assert "weight_format" in keys_at(schema, ("arms", "any-name"))
    assert "prefixes" in keys_at(schema, ("traffic", "prefix_repetition"))
    assert "request_rate" in keys_at(schema, ("loads", 2))
    assert "ttft_ms" in keys_at(schema, ("slo",))
    assert keys_at(schema, ("traffic", "poems")) == []
