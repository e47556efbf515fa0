"""A run's record holds no secret; whoever goes on with the run supplies them again."""

from collections.abc import Mapping
from typing import Any

from whichbits.errors import BadInput
from whichbits.serve.launched import without_secrets
from whichbits.study.model import Study

_STARS = "***"


def recordable(study: Study) -> dict[str, Any]:
    """Return ``study`` as run.json may hold it: keys, tokens and passwords of every environment are starred."""
    recorded = study.model_dump(mode="json")
    for place in (recorded["every_arm"], *recorded["arms"].values()):
        place["environment"] = without_secrets(place["environment"])
    return recorded


def with_secrets(study: Study, environment: Mapping[str, str]) -> Study:
    """Return a recorded ``study`` with what its record left out, taken from variables of the same names.

    Raises:
        BadInput: ``secret_missing`` if ``environment`` lacks one.
    """
    arms = {
        name: arm.model_copy(update={"environment": _restored(name, arm.environment, environment)})
        for name, arm in study.arms.items()
    }
    return study.model_copy(update={"arms": arms})


def _restored(arm: str, recorded: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    missing = [name for name, value in recorded.items() if value == _STARS and name not in environment]
    if missing:
        raise BadInput(
            "secret_missing",
            f"arm {arm!r} needs {', '.join(missing)}, which the run's record leaves out",
            why="a run folder is made to be shown to others, so no secret is written into it",
            fix=f"export {' '.join(f'{name}=...' for name in missing)}, then resume",
        )
    return {name: environment[name] if value == _STARS else value for name, value in recorded.items()}
