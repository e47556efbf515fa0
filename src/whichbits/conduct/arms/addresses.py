"""Where the traffic of a running arm goes."""

from whichbits.drive.target import Target
from whichbits.serve.arm import RunningArm
from whichbits.serve.endpoint.replica import Endpoint
from whichbits.study.request import RequestForm


def targets(running: RunningArm, form: RequestForm) -> tuple[Target, ...]:
    """Return where the traffic of an arm goes, and in which form."""
    return tuple(
        Target(
            each.host,
            each.port,
            each.model,
            _path(each, form),
            api_key=each.api_key,
            tls=each.tls,
            ca_file=each.way.ca_file,
            proxy=each.way.proxy,
            replica=each.replica,
            form=form,
            keeps_text=not running.tells_usage,
        )
        for each in running.fleet.endpoints
    )


def _path(endpoint: Endpoint, form: RequestForm) -> str:
    if form.api == "completions":
        return endpoint.path
    return endpoint.path.removesuffix("/completions") + "/chat/completions"
