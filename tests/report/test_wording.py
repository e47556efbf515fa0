"""How crossings are written: every arm that leads on the way, and no load where none is known."""

from dataclasses import replace

from tests.report.make_summary import make_summary
from whichbits.analyze.summary import Crossing
from whichbits.report.wording import leader_text, verdict_texts

ONCE = replace(
    make_summary().crossovers[0],
    arms=("w8a8", "w4a16"),
    verdict="crosses",
    crossings=(Crossing(12.0, 9.0, 14.0),),
    leader_low_load="w8a8",
    leader_high_load="w4a16",
    loads=(1.0, 16.0, 256.0),
)
TWICE = replace(ONCE, crossings=(*ONCE.crossings, Crossing(197.0, 150.0, 240.0)), leader_high_load="w8a8")


def test_an_arm_that_leads_in_between_is_named() -> None:
    assert leader_text(ONCE) == "w8a8 → w4a16"
    assert leader_text(TWICE) == "w8a8 → w4a16 → w8a8"
    assert leader_text(replace(TWICE, verdict="none", crossings=())) == "w8a8"
    assert leader_text(replace(TWICE, verdict="noisy", crossings=(), leader_high_load=None)) == "w8a8 → ?"


def test_an_interval_of_all_loads_compared_places_nothing() -> None:
    anywhere = replace(ONCE, crossings=(Crossing(1.5, 1.0, 256.0),))
    bounded = replace(ONCE, crossings=(Crossing(1.5, 1.0, 100.0),))
    unknown = replace(ONCE, crossings=(Crossing(1.5, None, None),))

    assert verdict_texts(anywhere) == ("not placed (1 to 256)",)
    assert verdict_texts(bounded) == ("1.5 (1 to 100)",)
    assert verdict_texts(unknown) == ("1.5",)
