"""The web application: addresses to pages."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from whichbits.analyze.comparison.comparison import Comparison, compare
from whichbits.analyze.comparison.pairs import pairs
from whichbits.analyze.comparison.sources import read_source
from whichbits.analyze.curves.load_curves import MARGIN
from whichbits.errors import BadInput, WhichbitsError
from whichbits.language.language import Code
from whichbits.language.phrase import phrase
from whichbits.record.run import Run
from whichbits.report.policy import POLICY
from whichbits.report.prometheus.watched_run import WatchedRun, exposition
from whichbits.view import pages
from whichbits.view.catalogue import Catalogue, Entry
from whichbits.view.comparable import comparable_with, oldest_first
from whichbits.view.door import door
from whichbits.view.files import content_type, files_of, find_file
from whichbits.view.reports import Reports
from whichbits.view.selection import Selection

_GRACE_S = 2.0
"""How long the end waits for answers under way: a client that takes its time does not hold up who stops the server."""

_STATIC = Path(__file__).parent / "static"


def application(folder: Path, host: str, token: str | None, lang: Code = "en") -> web.Application:
    """Return the application over the runs of ``folder``; ``lang`` is the language where an address names none."""
    app = web.Application(middlewares=[door(host, token), _explaining(lang)])
    site = _Site(Catalogue(folder), Reports(), lang)
    app.add_routes(
        [
            web.get("/", site.runs),
            web.get("/runs/{name:[^/]+}/", site.run),
            web.get("/runs/{name:[^/]+}/report", site.report),
            web.get("/runs/{name:[^/]+}/state", site.state),
            web.get("/runs/{name:[^/]+}/files/{path:.+}", site.file),
            web.get("/compare", site.compare),
            web.get("/metrics", site.metrics),
            web.get("/static/{name}", _static),
        ]
    )
    return app


class _Site:
    def __init__(self, catalogue: Catalogue, reports: Reports, lang: Code) -> None:
        self._catalogue = catalogue
        self._reports = reports
        self._lang = lang

    async def runs(self, request: web.Request) -> web.Response:
        selection = Selection.of(request.query)
        entries = await asyncio.to_thread(self._catalogue.entries)
        return _page(self._pages(request).runs(self._catalogue.folder, entries, selection))

    async def run(self, request: web.Request) -> web.Response:
        entry = self._entry(request)
        if entry.problem is not None:
            return _page(self._pages(request).problem(entry.name, entry.problem), status=422)
        run = Run.load(entry.folder)
        others = comparable_with(entry, self._catalogue.entries())
        return _page(self._pages(request).run(entry, run, files_of(entry.folder), others))

    async def report(self, request: web.Request) -> web.Response:
        content = await self._reports.of(self._entry(request).folder, asked_language(request, self._lang))
        return web.Response(
            body=content, content_type="text/html", charset="utf-8", headers={"Content-Security-Policy": POLICY}
        )

    async def state(self, request: web.Request) -> web.Response:
        entry = self._entry(request)
        cells = () if entry.problem is not None else Run.load(entry.folder).cells
        told = {"progress": entry.progress, "ended": entry.ended, "cells": [pages.cell_row(cell) for cell in cells]}
        return web.Response(text=json.dumps(told), content_type="application/json")

    async def file(self, request: web.Request) -> web.StreamResponse:
        found = find_file(self._entry(request).folder, request.match_info["path"])
        if found is None:
            raise web.HTTPNotFound(text="This run has no such file.\n")
        # A picture or page of a run opens as one, but runs nothing and asks for nothing.
        headers = {"Content-Type": content_type(found), "Content-Security-Policy": f"sandbox; {POLICY}"}
        return web.FileResponse(found, headers=headers)

    async def compare(self, request: web.Request) -> web.Response:
        names = list(dict.fromkeys(request.query.getall("run", [])))
        if len(names) < 2:
            return _page(
                self._pages(request).problem(phrase("Compare"), phrase("Choose two runs or more in the list.")),
                status=400,
            )
        entries = oldest_first([self._named(name) for name in names], request.query.get("baseline"))
        try:
            found = await asyncio.to_thread(_compared, entries)
        except BadInput as error:
            if error.code not in ("nothing_to_compare", "no_shared_load"):
                raise
            fix = phrase("Choose runs that have an arm of the same name at the same load.")
            return _page(self._pages(request).refusal(error, fix), status=422)
        return _page(self._pages(request).comparison(found, entries))

    async def metrics(self, _request: web.Request) -> web.Response:
        running = [entry for entry in self._catalogue.entries() if entry.progress == "running"]
        loaded = ((entry.name, Run.load(entry.folder)) for entry in running)
        # A run's cells know of shards that its manifest does not have yet.
        return web.Response(
            text=exposition(WatchedRun(name, replace(run.manifest, cells=run.cells)) for name, run in loaded)
        )

    def _pages(self, request: web.Request) -> pages.Pages:
        return pages.Pages(request.rel_url, self._lang, asked_language(request, self._lang))

    def _entry(self, request: web.Request) -> Entry:
        return self._named(request.match_info["name"])

    def _named(self, name: str) -> Entry:
        found = self._catalogue.find(name)
        if found is None:
            raise web.HTTPNotFound(text="There is no such run here.\n")
        return found


def _compared(entries: Sequence[Entry]) -> Comparison:
    return compare(pairs([read_source(f"{entry.name}={entry.folder}") for entry in entries]), MARGIN)


def asked_language(request: web.Request, default: Code) -> Code:
    """Return the language that an address names as ``lang``; one that is none is the usual one."""
    asked = request.query.get("lang")
    return next((code for code in get_args(Code) if code == asked), default)


def _explaining(default: Code) -> Middleware:
    """Return what shows a refusal of whichbits itself as a page with its reason and remedy."""

    @web.middleware
    async def explain(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except WhichbitsError as error:
            page = pages.Pages(request.rel_url, default, asked_language(request, default))
            return _page(page.refusal(error), status=422)
        except FileNotFoundError:
            raise web.HTTPNotFound(text="This run was removed meanwhile.\n") from None

    return explain


async def _static(request: web.Request) -> web.StreamResponse:
    name = request.match_info["name"]
    if name == "report.css":
        return web.Response(text=pages.report_style(), content_type="text/css")
    if name not in ("view.css", "view.js"):
        raise web.HTTPNotFound
    return web.FileResponse(_STATIC / name)


def _page(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", status=status)


def _log() -> logging.Logger:
    """Return the log of what breaks here; a request that is none has its answer, and breaks nothing."""
    log = logging.getLogger(__name__)
    log.addFilter(_is_ours)
    return log


def _is_ours(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


async def serve(
    app: web.Application, host: str, port: int, ready: Callable[[str], None], stop: Awaitable[object]
) -> None:
    """Serve until ``stop`` is done; ``ready`` is told the address.

    Raises:
        OSError: the port is taken, or the host is not ours.
    """
    runner = web.AppRunner(app, access_log=None, logger=_log(), shutdown_timeout=_GRACE_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        _, bound, *_ = runner.addresses[0]
        ready(f"http://{f'[{host}]' if ':' in host else quote(host)}:{bound}/")
        await stop
    finally:
        await runner.cleanup()
