"""What an arm claims to be, held against what its servers said of themselves."""

from collections.abc import Sequence

from whichbits.errors import ArmMismatch
from whichbits.record.schema import ReplicaRecord
from whichbits.serve.asked import refuted
from whichbits.serve.order import Order


def insist_on_the_claim(order: Order, records: Sequence[ReplicaRecord]) -> None:
    """Raise ArmMismatch if one of the servers is not the arm that was ordered."""
    for record in records:
        reasons = order.engine.verify(order.arm, order.prepared.checkpoint, record.facts)
        if reasons:
            raise ArmMismatch(
                "arm_mismatch",
                f"arm {order.name!r} is not what it claims to be: {'; '.join(reasons)}",
                why=f"it claims {order.arm.weight_format}; its checkpoint or kernel is of another format",
                fix=f"correct the arm's model, weight_format or options; the server: {record.log or record.url}",
            )
        if order.arm.target is not None and (reasons := refuted(order.arm.settings(), record.facts)):
            raise ArmMismatch(
                "arm_mismatch",
                f"arm {order.name!r} is not what it claims to be: {'; '.join(reasons)}",
                why="whichbits applies settings to servers that it starts; those of a target are a claim like its bits",
                fix=f"start the server with them, or correct the arm; the server: {record.url}",
            )
