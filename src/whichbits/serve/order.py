"""What is to be served: all that bringing up an arm's servers needs."""

from dataclasses import dataclass
from pathlib import Path

from whichbits.serve.engine import Engine, Prepared
from whichbits.study.arm import Arm
from whichbits.study.model import Limits


@dataclass(frozen=True)
class Order:
    """One arm under its name, ready to be served; logs of servers go to ``folder``/logs."""

    name: str
    arm: Arm
    engine: Engine
    prepared: Prepared
    folder: Path
    limits: Limits
    profiled: bool = False
    """Servers are to be able to write traces."""
    beside: int = 0
    """Servers of other arms that start meanwhile."""
