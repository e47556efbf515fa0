"""docs/doctor.md names every problem and note that the doctor can state."""

import ast
import re

from tests.docs.pages import ROOT, page
from tests.docs.test_errors import calls, literals

PAGE = page("doctor.md")
FROM_ELSEWHERE = {"kernel_impossible", "does_not_fit"}


def test_every_code_is_in_the_table() -> None:
    made = [(module, call.args[0]) for module, call in calls({"Diagnosis"}) if len(call.args) > 1]
    own = [(module, code) for module, code in made if ast.unparse(code) not in ("refused.code", "code")]
    stated = set().union(*(literals(module, code) for module, code in own))
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    explained = {code for row in rows for code in re.findall(r"`(\w+)`", row)}

    assert (ROOT / "src/whichbits/doctor").is_dir()
    assert explained == stated | FROM_ELSEWHERE
