"""How a study starts a mock: an engine whose speed is ordered, for studies of the instrument itself."""

import sys
from collections.abc import Mapping

import msgspec

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.engine import Launch, Place, Prepared
from whichbits.serve.mock.facts import read_facts, read_failure
from whichbits.serve.mock.settings import MockSettings
from whichbits.study.arm import Arm

_OF_SETTINGS = {"max_num_seqs": "slots", "enable_prefix_caching": "prefix_cache"}
"""Settings that engines share, and the mock's words for them."""


class MockEngine:
    """A mock of each replica, started as a process. It serves no weights, whatever format the arm stands for."""

    name = "mock"
    health_path = "/health"
    cache_reset_path = "/reset_prefix_cache"
    sleep_option = None

    def measures_free_memory(self, arm: Arm) -> bool:
        """Return that it measures nothing."""
        del arm
        return False

    def check(self, arm: Arm) -> list[str]:
        """Check the options; there are no files. Raises BadInput."""
        _settings(arm)
        return []

    def prepare(self, arm: Arm) -> Prepared:
        """Nothing is needed. Raises BadInput if the options are not the mock's."""
        _settings(arm)
        return Prepared(arm.model, {})

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        """Return the mock's command. Raises BadInput."""
        del prepared
        settings = msgspec.json.encode(_told(arm)).decode()
        return Launch((sys.executable, "-m", "whichbits.serve.mock", place.host, str(place.port), settings), {})

    def served_model(self, arm: Arm) -> str:
        """Return the name that requests use."""
        return _settings(arm).model

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        """Return what the mock was told, as its log repeats it."""
        return read_facts(log_text)

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        """Return that this is a mock: a running one has no log that could be read here."""
        version = await control.json("/version")
        match version:
            case {"version": str() as told}:
                return {"engine_version": Fact(told, "/version")}
            case _:
                return {}

    def failure(self, log_text: str) -> str | None:
        """Return why a mock did not start."""
        return read_failure(log_text)

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        """Insist that a mock answers: nothing else may pass for one. Of bits there is nothing to verify."""
        del arm, checkpoint
        told = facts.get("engine_version")
        return [] if told is not None and told.value == "whichbits-mock" else ["what answers is no mock"]


def _settings(arm: Arm) -> MockSettings:
    unfit = [name for name in arm.settings() if name not in _OF_SETTINGS]
    if unfit or arm.gpus is not None:
        raise BadInput(
            "mock_setting",
            f"a mock has no {unfit[0] if unfit else 'gpus'}",
            why="it computes nothing, so the setting would silently not be applied",
            fix=f"leave it out; of the settings that engines share it has {', '.join(_OF_SETTINGS)}",
        )
    return MockSettings.of(_told(arm))


def _told(arm: Arm) -> Mapping[str, str | int | float | bool]:
    """Return what people set, in the mock's words; the model's name is the arm's."""
    shared = {_OF_SETTINGS[name]: value for name, value in arm.settings().items() if name in _OF_SETTINGS}
    return {"model": arm.served_model_name or arm.model} | shared | arm.options
