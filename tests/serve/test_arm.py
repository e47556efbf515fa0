"""An arm is served, recorded, checked, and gone afterwards, whatever ends it."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.serve.fake_server import command, survivors, wait_for_pids
from whichbits.errors import ArmMismatch, ServerNotReady
from whichbits.record.schema import Fact
from whichbits.serve import engine
from whichbits.serve.arm import serve_arm
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.engine import Launch, Place, Prepared
from whichbits.serve.secrets import without_secrets
from whichbits.study.arm import Arm
from whichbits.study.model import Limits

CHECKPOINT = {"weight_bits": Fact(4, "config.json")}


@dataclass(frozen=True)
class FakeEngine:
    """Serves with the fake server; the arm's option ``behaviour`` says how badly."""

    name: str = "fake"
    health_path: str = "/health"
    cache_reset_path: str | None = None

    def measures_free_memory(self, arm: Arm) -> bool:
        return not arm.kv_cache_gib

    def check(self, arm: Arm) -> list[str]:
        return []

    def prepare(self, arm: Arm) -> Prepared:
        return Prepared(arm.model, CHECKPOINT)

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        pids = Path(prepared.model_path)
        return Launch(
            tuple(command(place.port, pids, str(arm.options["behaviour"]))), {"HF_TOKEN": "hf_1", "THREADS": "2"}
        )

    def served_model(self, arm: Arm) -> str:
        return "fake-model"

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        return {"requests": Fact(log_text.count("GET /health"), "log")}

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        return {}

    def failure(self, log_text: str) -> str | None:
        return None

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        claimed = 4 if arm.weight_format == "w4a16" else 16
        return [] if checkpoint["weight_bits"].value == claimed else [f"4 bits were loaded, {claimed} are claimed"]


@dataclass(frozen=True)
class FetchingEngine(FakeEngine):
    """Its checkpoint lies here only once a server has fetched it."""

    name: str = "fetching"

    def prepare(self, arm: Arm) -> Prepared:
        return Prepared(arm.model, CHECKPOINT if Path(arm.model).exists() else {})

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        return super().verify(arm, checkpoint, facts) if checkpoint else []


@pytest.fixture(autouse=True)
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ENGINES", {each: f"{__name__}:{each}" for each in ("FakeEngine", "FetchingEngine")})


def arm(folder: Path, behaviour: str = "", weight_format: str = "w4a16", engine_name: str = "FakeEngine") -> Arm:
    return Arm.model_validate(
        {
            "weight_format": weight_format,
            "model": str(folder / "pids"),
            "engine": engine_name,
            "options": {"behaviour": behaviour},
            "environment": {"THREADS": "4"},
        }
    )


async def test_a_running_arm_is_recorded_and_gone_afterwards(tmp_path: Path) -> None:
    async with serve_arm("four/bits", arm(tmp_path), tmp_path / "run", Limits()) as running:
        pids = wait_for_pids(tmp_path / "pids", 1)
        (replica,) = running.fleet.endpoints
        (record,) = running.record.replicas

    assert (replica.replica, replica.model, replica.path) == ("0", "fake-model", "/v1/completions")
    assert record.url == f"http://{replica.host}:{replica.port}"
    assert record.command == tuple(command(replica.port, tmp_path / "pids", ""))
    assert record.environment == {"HF_TOKEN": "***", "THREADS": "4"}
    assert record.facts == {"requests": Fact(3, "log")}
    assert record.ready_seconds is not None
    assert record.log is not None
    assert (tmp_path / "run" / record.log).parent == tmp_path / "run" / "logs"
    assert running.record.checkpoint == CHECKPOINT
    assert survivors(pids, 0) == []


async def test_an_arm_that_is_not_what_it_claims_is_stopped_and_refused(tmp_path: Path) -> None:
    with pytest.raises(ArmMismatch, match="4 bits were loaded, 16 are claimed"):
        async with serve_arm("sixteen", arm(tmp_path, weight_format="fp16"), tmp_path, Limits()):
            pytest.fail("it must not be served")

    assert survivors(wait_for_pids(tmp_path / "pids", 1), 0) == []


async def test_a_server_that_dies_while_loading_is_an_error_for_people(tmp_path: Path) -> None:
    with pytest.raises(ServerNotReady, match="exit code 7"):
        async with serve_arm("four", arm(tmp_path, "dies"), tmp_path, Limits()):
            pytest.fail("it must not be served")


async def test_the_replica_that_dies_is_named_where_there_are_several(tmp_path: Path) -> None:
    two = arm(tmp_path, "dies").model_copy(update={"replicas": 2})
    with pytest.raises(ServerNotReady, match=r"^replica [01]: the server ended with exit code 7"):
        async with serve_arm("four", two, tmp_path, Limits()):
            pytest.fail("it must not be served")


async def test_a_mismatch_names_the_log_as_it_lies_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArmMismatch) as refused:
        async with serve_arm("sixteen", arm(tmp_path, weight_format="fp16"), tmp_path / "run", Limits()):
            pytest.fail("it must not be served")

    assert refused.value.fix.endswith("the server: run/logs/sixteen-0.log")


@pytest.mark.parametrize("behaviour", ["", "silent"])
async def test_a_cancelled_arm_leaves_nothing_behind(tmp_path: Path, behaviour: str) -> None:
    async def serve() -> None:
        async with serve_arm("four", arm(tmp_path, behaviour), tmp_path, Limits()):
            await asyncio.Event().wait()

    serving = asyncio.create_task(serve())
    pids = await asyncio.to_thread(wait_for_pids, tmp_path / "pids", 1)

    serving.cancel()
    await asyncio.sleep(0)
    serving.cancel()  # an impatient second Ctrl-C
    with pytest.raises(asyncio.CancelledError):
        await serving

    assert survivors(pids, 0) == []


def test_secrets_are_starred_and_settings_are_not() -> None:
    environment = {
        "HF_TOKEN": "a",
        "openai_api_key": "b",
        "DB_PASSWORD": "c",
        "TOKENIZERS_PARALLELISM": "true",
    }

    assert without_secrets(environment) == {
        "HF_TOKEN": "***",
        "openai_api_key": "***",
        "DB_PASSWORD": "***",
        "TOKENIZERS_PARALLELISM": "true",
    }


async def test_a_checkpoint_that_the_server_fetched_is_held_against_the_claim(tmp_path: Path) -> None:
    wrong = arm(tmp_path, weight_format="bf16", engine_name="FetchingEngine")

    with pytest.raises(ArmMismatch, match="4 bits were loaded"):
        async with serve_arm("fetched", wrong, tmp_path / "run", Limits()):
            pass
