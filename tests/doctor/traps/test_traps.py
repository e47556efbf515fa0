"""The doctor finds each trap of the second field report, in environments that really fell into it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.doctor.traps.recipes import TRAPS, Made, Trap, a_vllm_of_before, an_unsupported_python, doctor_on

pytestmark = pytest.mark.traps

LARGE = pytest.mark.skipif(
    not os.environ.get("WHICHBITS_LARGE_TRAPS"), reason="downloads some GB: set WHICHBITS_LARGE_TRAPS=1"
)
APT = pytest.mark.skipif(shutil.which("apt-get") is None, reason="Python 3.13 comes from Debian's packages")


def marks(trap: Trap) -> list[pytest.MarkDecorator]:
    return [LARGE] if trap.is_large else [APT] if trap.make is an_unsupported_python else []


def environment(trap: Trap, folder: Path) -> Made:
    """Make a trap's environment, or skip where Debian's archive cannot be reached, as behind a mirror."""
    try:
        return trap.make(folder)
    except subprocess.CalledProcessError as failed:
        if failed.cmd[0] == "apt-get":
            pytest.skip(f"Python 3.13 cannot be had from Debian's archive here: {failed.stderr.strip()[-200:]}")
        raise


@pytest.mark.parametrize("trap", [pytest.param(trap, id=trap.name, marks=marks(trap)) for trap in TRAPS])
def test_the_doctor_finds_it_and_knows_a_remedy(trap: Trap, tmp_path: Path) -> None:
    made = environment(trap, tmp_path)
    found = doctor_on(made)
    states = {code: {each["state"] for each in said} for code, said in found.items()}
    assert all(state in states.get(code, set()) for code, state in trap.finds.items()), states
    assert all(each["fix"] for code in trap.finds for each in found[code])
    if trap.make is an_unsupported_python:
        assert "0.8.5.post1 Requires-Python <3.13,>=3.9" in made.said
        assert "any vLLM from 0.10.2 on, of which 0.33 is the newest known here" in found["python_refused"][0]["fix"]


def test_the_last_greedy_vllm_only_lacks_the_script(tmp_path: Path) -> None:
    found = doctor_on(a_vllm_of_before(tmp_path))
    assert found["bench_script_gone"][0]["state"] == "problem"
    assert "bench_not_greedy" not in found
