"""Which bits to serve, from which load on, on your hardware and traffic, and why."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whichbits.tables.loaded_run import LoadedRun, load_run

__all__ = ["LoadedRun", "load_run"]


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is: reading the installation takes as long as reading a short log."""
    if name == "__version__":
        from importlib.metadata import version

        return version("whichbits")
    if name in __all__:
        from whichbits.tables import loaded_run

        return getattr(loaded_run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
