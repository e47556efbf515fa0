"""Who is engaged for a study: processes, or a Ray cluster that is there."""

import sys

import pytest

from whichbits.drive.crew.engage import engaged, refuse_missing_crew
from whichbits.errors import BadInput
from whichbits.study.client import ClientPlan


def test_processes_need_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refuse_missing_crew(ClientPlan())
    with engaged(ClientPlan()) as crew:
        assert crew.hired == ()


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match="Ray is not installed") as before_all:
        refuse_missing_crew(ClientPlan(ray="auto"))
    with pytest.raises(BadInput), engaged(ClientPlan(ray="auto")):
        pass

    assert before_all.value.code == "ray_missing"
    assert "whichbits[ray]" in before_all.value.fix


@pytest.mark.parametrize("address", ["auto", "head:6379", "10.0.0.1:6379"])
def test_addresses_of_ray(address: str) -> None:
    assert ClientPlan(ray=address).ray == address


@pytest.mark.parametrize("address", ["", "head", "ray://head:10001", "head:port", "a b:1"])
def test_what_is_no_address_of_ray(address: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        ClientPlan(ray=address)
