"""Which bits to serve, from which load on, on your hardware and traffic, and why."""

from importlib.metadata import version

__version__ = version("whichbits")
