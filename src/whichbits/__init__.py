"""Which bits to serve, from which load on, on your hardware and traffic, and why."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Look the version up when it is asked for: reading the installation takes as long as reading a short log."""
    if name == "__version__":
        from importlib.metadata import version

        return version("whichbits")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
