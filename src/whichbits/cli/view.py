"""``whichbits view``: browse a folder of runs in a browser."""

import asyncio
import signal
import webbrowser
from pathlib import Path
from typing import Annotated

from aiohttp import web
from cyclopts import Parameter

from whichbits.cli.lang import Lang
from whichbits.errors import BadInput
from whichbits.hardware.loopback import insist_on_host, is_loopback
from whichbits.view.application import application, serve
from whichbits.view.door import new_token


def view(
    folder: Path = Path("runs"),
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    open_browser: Annotated[bool, Parameter(name="--open", negative=())] = False,
    lang: Lang = "en",
) -> None:
    """Show the runs of a folder on a web page: list, open, compare, follow one that is under way.

    Only this machine can reach the page. Where `--host` opens it to others, its address carries a token.

    Args:
        folder: A folder of runs, or one run.
        host: The address to listen at.
        port: The port; 0 takes a free one.
        open_browser: Open the page in a browser.
        lang: Language of the pages; each page has a link to the others.
    """
    if not folder.is_dir():
        raise BadInput(
            "view_no_folder",
            f"{folder} is not a folder",
            why="runs are kept in `runs`, or where a study's `output` says",
            fix="name the folder that holds the runs",
        )
    insist_on_host(host, "--host")
    token = None if is_loopback(host) else new_token()
    try:
        asyncio.run(_serve(application(folder, host, token, lang), host, port, token, open_browser=open_browser))
    except (OSError, OverflowError, UnicodeError) as error:
        raise BadInput(
            "view_no_port",
            f"nothing can listen at {host}:{port}: {getattr(error, 'strerror', None) or error}",
            why="another program has the port, or the address is not this machine's",
            fix="name another with --port, or 0 for a free one",
        ) from error


async def _serve(app: web.Application, host: str, port: int, token: str | None, *, open_browser: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def ready(address: str) -> None:
        whole = address if token is None else f"{address}?token={token}"
        print(whole, flush=True)
        if open_browser:
            webbrowser.open(whole)

    # As a task it is given up quietly where nothing could listen.
    await serve(app, host, port, ready, asyncio.ensure_future(stop.wait()))
