"""The visits of a study, one after the other: as planned, or as a search decides them while it runs."""

from collections.abc import Iterator, Sequence

from whichbits.conduct.order import Visit
from whichbits.conduct.searching.load_search import LoadSearch
from whichbits.conduct.searching.repeat_search import RepeatSearch
from whichbits.conduct.searching.sitting import Sitting
from whichbits.conduct.stage import Stage
from whichbits.study.search import AutoLoads


def course(stage: Stage, planned: Sequence[Visit]) -> Iterator[Visit]:
    """Return the visits of ``planned``, or those that the study's search decides."""
    study = stage.study
    if not study.searches:
        return iter(planned)
    sitting = Sitting(stage)
    return (LoadSearch if isinstance(study.loads, AutoLoads) else RepeatSearch)(sitting).visits()
