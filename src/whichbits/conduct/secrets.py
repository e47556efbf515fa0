"""A run's record holds no secret; whoever goes on with the run supplies them again."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from whichbits.errors import BadInput
from whichbits.serve.secrets import STARS, is_secret_option, without_secrets
from whichbits.study.model import Study

Value = str | int | float | bool
Held = TypeVar("Held", str, Value)


def recordable(study: Study) -> dict[str, Any]:
    """Return ``study`` as run.json may hold it: keys, tokens and passwords are starred."""
    recorded = study.model_dump(mode="json")
    for place in (recorded["every_arm"], *recorded["arms"].values()):
        place["environment"] = without_secrets(place["environment"])
        place["options"] = {n: STARS if is_secret_option(n, value) else value for n, value in place["options"].items()}
    return recorded


def with_secrets(study: Study, environment: Mapping[str, str]) -> Study:
    """Return a recorded ``study`` with what its record left out, taken from variables of the same names.

    An option's is the variable of its name in capitals.

    Raises:
        BadInput: ``secret_missing`` if ``environment`` lacks one.
    """
    arms = {
        name: arm.model_copy(
            update={
                "environment": _restored(name, arm.environment, environment),
                "options": _restored(name, arm.options, _supplied(arm.options, environment), _variable),
            }
        )
        for name, arm in study.arms.items()
    }
    return study.model_copy(update={"arms": arms})


def _supplied(options: Mapping[str, Value], environment: Mapping[str, str]) -> dict[str, Value]:
    return {name: environment[_variable(name)] for name in options if _variable(name) in environment}


def _variable(option: str) -> str:
    return option.lstrip("-").replace("-", "_").upper()


def _restored(
    arm: str, recorded: Mapping[str, Held], supplied: Mapping[str, Held], variable: Callable[[str], str] = str
) -> dict[str, Held]:
    missing = [name for name, value in recorded.items() if value == STARS and name not in supplied]
    if missing:
        raise BadInput(
            "secret_missing",
            f"arm {arm!r} needs {', '.join(missing)}, which the run's record leaves out",
            why="a run folder is made to be shown to others, so no secret is written into it",
            fix=f"export {' '.join(f'{variable(name)}=...' for name in missing)}, then resume",
        )
    return {name: supplied[name] if value == STARS else value for name, value in recorded.items()}
