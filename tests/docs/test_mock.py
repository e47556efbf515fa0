"""docs/mock.md names every option and every fault, with the default that it has."""

from dataclasses import fields
from typing import get_args

from tests.docs.pages import keys, page, section
from whichbits.serve.mock.engine.truth import TrueRequest
from whichbits.serve.mock.faults import FaultKind
from whichbits.serve.mock.settings import MockSettings

PAGE = page("mock.md")


def test_every_option_is_in_a_table() -> None:
    written = [*keys(section(PAGE, "Its pace")), *keys(section(PAGE, "Its stream"))]

    assert sorted(written) == sorted(field.name for field in fields(MockSettings))


def test_every_fault_is_in_the_table() -> None:
    written = [key.partition("=")[0] for key in keys(section(PAGE, "Faults to order"))]

    assert sorted(written) == sorted(get_args(FaultKind))


def test_every_field_of_the_truth_is_in_the_table() -> None:
    assert all(f"`{name}`" in section(PAGE, "The truth") for name in TrueRequest.__struct_fields__)
