"""What an arm claims to be, held against what its servers said of themselves."""

from collections.abc import Sequence

from whichbits.errors import ArmMismatch
from whichbits.record.schema import ReplicaRecord
from whichbits.serve.asked import refuted
from whichbits.serve.order import Order
from whichbits.serve.seen_from import seen_from_here


def insist_on_the_claim(order: Order, records: Sequence[ReplicaRecord]) -> None:
    """Raise ArmMismatch if one of the servers is not the arm that was ordered."""
    for record in records:
        reasons = order.engine.verify(order.arm, order.prepared.checkpoint, record.facts)
        if reasons:
            raise ArmMismatch(
                "arm_mismatch",
                f"arm {order.name!r} is not what it claims to be: {'; '.join(reasons)}",
                why=f"it claims {order.arm.weight_format}; its checkpoint or kernel is of another format",
                fix=f"correct the arm's model, weight_format or options; the server: {_where(order, record)}",
            )
        if order.arm.target is not None and (reasons := refuted(order.arm.settings(), record.facts)):
            raise ArmMismatch(
                "arm_mismatch",
                f"arm {order.name!r} is not what it claims to be: {'; '.join(reasons)}",
                why="whichbits applies settings to servers that it starts; those of a target are a claim like its bits",
                fix=f"start the server with them, or correct the arm; the server: {record.url}",
            )


def _where(order: Order, record: ReplicaRecord) -> str:
    """Return where a person can look: logs of a target with urls are named as the study names them."""
    if record.log is None:
        return record.url
    kept_by_us = order.arm.target is None or order.arm.target.kubernetes is not None
    return seen_from_here(order.folder / record.log) if kept_by_us else record.log
