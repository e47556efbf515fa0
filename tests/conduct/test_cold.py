"""A cell is called cold only where that was shown."""

from types import SimpleNamespace
from typing import cast

import pytest

from whichbits.conduct.cold import make_cold
from whichbits.serve.arm import RunningArm
from whichbits.serve.control import ResetAnswer, read_reset_answer
from whichbits.serve.replica import Replica
from whichbits.study.model import CachePolicy

RESET = "/reset_prefix_cache"


def arm(*replicas: Replica, reset_path: str | None = RESET) -> RunningArm:
    fleet = SimpleNamespace(replicas=replicas)
    return cast("RunningArm", SimpleNamespace(fleet=fleet, cache_reset_path=reset_path))


def replica(name: str, status: int, body: str) -> Replica:
    async def reset_prefix_cache(path: str) -> ResetAnswer:
        assert path == RESET
        return read_reset_answer(status, body)

    return cast("Replica", SimpleNamespace(name=name, control=SimpleNamespace(reset_prefix_cache=reset_prefix_cache)))


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
