"""Who sends a study's requests: processes of this machine, or actors of a Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from whichbits.drive.crew.crew import Crew
from whichbits.study.client import ClientPlan


def refuse_missing_crew(client: ClientPlan) -> None:
    """Raise BadInput if what the crew needs is not installed."""
    if client.ray is not None:
        from whichbits.drive.crew.ray_cluster import refuse_without_ray

        refuse_without_ray()


@contextmanager
def engaged(client: ClientPlan) -> Iterator[Crew]:
    """Yield the crew that a study's ``client`` asks for; it leaves with the block.

    Raises:
        BadInput: Ray is asked for, but not installed.
        ClientFailed: the Ray cluster cannot be joined, or is too small.
    """
    if client.ray is None:
        with Crew(client.workers) as crew:
            yield crew
        return
    from whichbits.drive.crew.ray_cluster import joined

    with joined(client.ray) as cluster:
        if client.workers != "auto":
            cluster.refuse_more_than_cores(client.workers)
        with Crew(client.workers, cluster.hire, cluster.spare_cores) as crew:
            yield crew
