"""A cell is called cold only where that was shown."""

from types import SimpleNamespace
from typing import cast

import pytest

from whichbits.conduct.cold import make_cold
from whichbits.serve.arm import Replica
from whichbits.serve.control import ResetAnswer, read_reset_answer
from whichbits.study.model import CachePolicy


def replica(name: str, status: int, body: str) -> Replica:
    async def reset_prefix_cache() -> ResetAnswer:
        return read_reset_answer(status, body)

    return cast("Replica", SimpleNamespace(name=name, control=SimpleNamespace(reset_prefix_cache=reset_prefix_cache)))


@pytest.mark.parametrize(("policy", "state"), [("salt", "salted"), ("restart", "restarted"), ("warm", "primed")])
async def test_policies_without_a_reset_ask_the_server_nothing(policy: CachePolicy, state: str) -> None:
    assert await make_cold(policy, [cast("Replica", None)]) == state


async def test_a_reset_that_every_replica_confirms() -> None:
    confirmed = '{"success": true}'

    assert await make_cold("reset", [replica("0", 200, confirmed), replica("1", 200, confirmed)]) == "reset"


@pytest.mark.parametrize(("status", "body"), [(404, "Not Found"), (200, ""), (200, '{"success": false}')])
async def test_one_replica_that_does_not_confirm_leaves_it_unverified(status: int, body: str) -> None:
    state = await make_cold("reset", [replica("0", 200, '{"success": true}'), replica("1", status, body)])

    assert state == f"unverified: 1 answered {status} {body!r}"
