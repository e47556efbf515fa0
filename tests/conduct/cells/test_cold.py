"""A cell is called cold only where that was shown."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from whichbits.conduct.cells.cold import make_cold
from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.control import ResetAnswer, read_reset_answer
from whichbits.serve.endpoint.replica import Replica
from whichbits.study.model import CachePolicy

RESET = "/reset_prefix_cache"


def arm(*replicas: Replica, reset_path: str | None = RESET) -> RunningArm:
    fleet = SimpleNamespace(replicas=replicas)
    return cast("RunningArm", SimpleNamespace(fleet=fleet, cache_reset_path=reset_path))


def replica(name: str, status: int, body: str, log: Path | None = None, logged: str = "") -> Replica:
    async def reset_prefix_cache(path: str) -> ResetAnswer:
        assert path == RESET
        if log is not None:
            with log.open("a", encoding="utf-8") as written:
                written.write(logged)
        return read_reset_answer(status, body)

    control = SimpleNamespace(reset_prefix_cache=reset_prefix_cache)
    named = None if log is None else str(log)
    return cast("Replica", SimpleNamespace(name=name, control=control, log=named))


@pytest.mark.parametrize(("policy", "state"), [("salt", "salted"), ("restart", "restarted"), ("warm", "primed")])
async def test_policies_without_a_reset_ask_the_server_nothing(policy: CachePolicy, state: str) -> None:
    assert await make_cold(policy, arm(cast("Replica", None))) == state


async def test_a_reset_that_every_replica_confirms() -> None:
    confirmed = '{"success": true}'

    assert await make_cold("reset", arm(replica("0", 200, confirmed), replica("1", 200, confirmed))) == "reset"


@pytest.mark.parametrize(("status", "body"), [(404, "Not Found"), (200, ""), (200, '{"success": false}')])
async def test_one_replica_that_does_not_confirm_leaves_it_unverified(status: int, body: str) -> None:
    state = await make_cold("reset", arm(replica("0", 200, '{"success": true}'), replica("1", status, body)))

    assert state == f"unverified: 1 answered {status} {body!r}"


async def test_an_engine_without_a_reset_leaves_it_unverified() -> None:
    assert (await make_cold("reset", arm(cast("Replica", None), reset_path=None))).startswith("unverified")


DONE = "INFO 03-01 10:00:00 [block_pool.py:378] Successfully reset prefix cache\n"
FAILED = (
    "WARNING 03-01 10:00:00 [block_pool.py:366] Failed to reset prefix cache because some blocks (3) are not freed\n"
)


@pytest.mark.parametrize(
    ("logged", "state"),
    [
        (DONE, "reset"),
        (FAILED, "unverified: 0 answered 200 '', and its log says that it failed because blocks were still in use"),
        (DONE + FAILED, "unverified: 0 answered 200 '', and its log says"),  # one of two engine cores
        ("INFO something else\n", "unverified: 0 answered 200 ''"),
    ],
)
async def test_an_empty_answer_is_completed_by_the_log(tmp_path: Path, logged: str, state: str) -> None:
    """Only what the reset itself added counts: an earlier one's success is there already."""
    log = tmp_path / "server.log"
    log.write_text(DONE, encoding="utf-8")

    assert (await make_cold("reset", arm(replica("0", 200, "", log, logged)))).startswith(state)


async def test_a_log_that_is_not_here_leaves_an_empty_answer_unverified(tmp_path: Path) -> None:
    silent = replica("0", 200, "", None)
    gone = cast("Replica", SimpleNamespace(name="1", control=silent.control, log=str(tmp_path / "none.log")))

    assert await make_cold("reset", arm(silent, gone)) == "unverified: 0 answered 200 ''; 1 answered 200 ''"
