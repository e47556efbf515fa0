"""docs/embedded-engine.md lists the options, formats and endpoints that there are."""

from typing import cast

from tests.docs.pages import keys, page, section
from whichbits.serve.embedded.client import EngineClient
from whichbits.serve.embedded.launch import FORMATS, OPTIONS
from whichbits.serve.embedded.metrics import EngineMetrics
from whichbits.serve.embedded.server import Server

PAGE = page("embedded-engine.md")
NO_ENGINE = cast("EngineClient", None)


def test_every_option_is_in_the_table() -> None:
    assert keys(section(PAGE, "Options")) == list(OPTIONS)


def test_every_format_is_in_the_table() -> None:
    assert keys(section(PAGE, "Formats")) == list(FORMATS)


def test_every_endpoint_is_in_the_table() -> None:
    routes = Server("model", NO_ENGINE, EngineMetrics("model")).application().router.routes()
    served = [f"{route.method} {route.resource.canonical}" for route in routes if route.resource is not None]

    assert keys(section(PAGE, "Endpoints")) == [each for each in served if not each.startswith("HEAD")]
