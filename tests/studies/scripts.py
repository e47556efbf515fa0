"""The scripts that lie beside the studies, as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

STUDIES = Path(__file__).parents[2] / "studies"


def script(name: str) -> ModuleType:
    """Load ``studies/h200/NAME.py``."""
    found = importlib.util.spec_from_file_location(name, STUDIES / "h200" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
