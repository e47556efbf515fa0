"""The pages over a folder of runs, asked for as a browser asks."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from tests.record.make_run import TWO_ARMS, make_run, manifest
from whichbits.record.schema import Cell
from whichbits.record.writer import RunWriter
from whichbits.report.rebuild import rebuild_reports
from whichbits.view import application as view
from whichbits.view import files
from whichbits.view.application import application

Client = TestClient[web.Request, web.Application]
Browse = Callable[..., Awaitable[Client]]
HOSTILE = '<img src=x onerror=alert(1)> "quoted" & {{ 7 * 7 }}'


@pytest.fixture
async def browse(tmp_path: Path) -> AsyncIterator[Browse]:
    """Opens pages over ``tmp_path``."""
    clients: list[Client] = []

    async def opened(host: str = "127.0.0.1", token: str | None = None) -> Client:
        client = TestClient(TestServer(application(tmp_path, host, token)))
        await client.start_server()
        clients.append(client)
        return client

    yield opened
    for client in clients:
        await client.close()


async def text(client: Client, path: str, status: int = 200) -> str:
    answer = await client.get(path)
    content = await answer.text()
    assert answer.status == status, content
    return content


def running(folder: Path, name: str = "slow") -> Path:
    """A run of two cells of which one has ended."""
    cells = [Cell(number, "a", 1, None, number) for number in range(2)]
    writer = RunWriter.create(folder, replace(manifest(cells=cells), name=name))
    writer.cell(replace(cells[0], state="done", requests=0, failed=0, started_ns=0, finished_ns=2_000_000_000), [])
    return writer.folder


async def test_the_list_shows_each_run_once_with_its_state(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    under_way = running(tmp_path)
    client = await browse()
    page = await text(client, "/")
    assert page.count(f'href="/runs/{made.name}/"') == 1
    assert page.count(f'href="/runs/{under_way.name}/"') == 1
    assert "finished" in page
    assert "running" in page
    assert "1/2" in page


async def test_a_run_that_is_silent_is_cut_short(browse: Browse, tmp_path: Path) -> None:
    folder = running(tmp_path)
    for path in (folder, *folder.iterdir()):
        os.utime(path, (1, 1))
    client = await browse()
    page = await text(client, "/")
    assert "cut short" in page
    assert "running" not in page.replace("is under way", "")


async def test_words_choose_and_columns_sort(browse: Browse, tmp_path: Path) -> None:
    first, second = running(tmp_path, "alpha"), running(tmp_path, "beta")
    client = await browse()
    found = await text(client, "/?q=ALPHA")
    assert f"/runs/{first.name}/" in found
    assert f"/runs/{second.name}/" not in found
    upwards, downwards = await text(client, "/?sort=study"), await text(client, "/?sort=-study")
    assert upwards.index(first.name) < upwards.index(second.name)
    assert downwards.index(second.name) < downwards.index(first.name)
    assert 'aria-sort="ascending"' in upwards
    assert "No run has all of these words" in await text(client, "/?q=nowhere")
    await text(client, "/?sort=no-such-column")


async def test_a_run_shows_its_cells_files_and_report(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    client = await browse()
    page = await text(client, f"/runs/{made.name}/")
    assert "c32" in page
    assert f'href="/runs/{made.name}/files/requests.parquet"' in page
    report = await text(client, f"/runs/{made.name}/report")
    assert "The answer" in report
    answer = await client.get(f"/runs/{made.name}/files/requests.parquet")
    assert await answer.read() == (made / "requests.parquet").read_bytes()


async def test_a_report_on_disk_is_served_as_it_is_unless_the_record_is_newer(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    (made / "report.html").write_text("as it is")
    client = await browse()
    assert await text(client, f"/runs/{made.name}/report") == "as it is"
    os.utime(made / "report.html", (1, 1))
    assert "The answer" in await text(client, f"/runs/{made.name}/report")


async def test_a_run_under_way_tells_its_state(browse: Browse, tmp_path: Path) -> None:
    folder = running(tmp_path)
    client = await browse()
    told = json.loads(await text(client, f"/runs/{folder.name}/state"))
    assert told["progress"] == "running"
    assert told["ended"] == 1
    assert [cell["state"] for cell in told["cells"]] == ["done", "planned"]
    assert told["cells"][0]["seconds"] == 2.0
    assert told["cells"][1]["seconds"] is None


async def test_two_runs_are_compared_and_one_is_not(browse: Browse, tmp_path: Path) -> None:
    first, second = make_run(tmp_path), make_run(tmp_path, per_stream=5)
    client = await browse()
    page = await text(client, f"/compare?run={first.name}&run={second.name}")
    assert "Median TPOT" in page
    assert f"{first.name}</a> (baseline)" in page
    await text(client, f"/compare?run={first.name}", 400)
    await text(client, "/compare?run=none&run=neither", 404)


async def test_a_broken_run_is_named_and_harms_no_other(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    client = await browse()
    page = await text(client, "/")
    assert "unreadable" in page
    assert made.name in page
    assert "run.json cannot be read" in await text(client, "/runs/broken/", 422)
    await text(client, "/runs/broken/report", 422)


async def test_a_run_that_nobody_foresaw_harms_no_other(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    deep, odd = tmp_path / "deep", tmp_path / os.fsdecode(b"od\xffd")
    for folder in (deep, odd):
        shutil.copytree(made, folder)
    (deep / "run.json").write_bytes(b'{"study": ' + b"[" * 100_000)
    (made / os.fsdecode(b"fi\xffle.log")).write_text("found")
    os.mkfifo(made / "summary.json")
    client = await browse()

    page = await text(client, "/")
    assert all(name in page for name in (made.name, "deep", "od\ufffdd"))
    assert "recursion depth" in await text(client, "/runs/deep/", 422)
    assert "is not UTF-8" in await text(client, "/runs/od%EF%BF%BDd/", 422)
    assert "fi\ufffdle.log" in await text(client, f"/runs/{made.name}/")
    assert await text(client, f"/runs/{made.name}/files/fi%EF%BF%BDle.log") == "found"


async def test_a_run_removed_while_it_is_read_takes_no_list_with_it(
    browse: Browse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, going = make_run(tmp_path), running(tmp_path)
    look = Path.iterdir

    def gone(path: Path) -> Iterator[Path]:
        if path == going:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return look(path)

    monkeypatch.setattr(Path, "iterdir", gone)
    client = await browse()

    assert made.name in await text(client, "/")


async def test_a_client_that_takes_its_time_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(view, "_GRACE_S", 0.1)
    run = make_run(tmp_path, loads=(1,))
    (run / "long.log").touch()
    os.truncate(run / "long.log", 1 << 30)
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    served = asyncio.ensure_future(
        view.serve(application(tmp_path, "127.0.0.1", None), "127.0.0.1", 0, address.set_result, stop.wait())
    )
    host = URL(await address)
    reader, writer = await asyncio.open_connection(host.host, host.port)
    writer.write(f"GET /runs/{run.name}/files/long.log HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"

    stop.set()
    await asyncio.wait_for(served, 30)  # half of what aiohttp waits by itself
    writer.close()


async def test_what_is_no_request_leaves_the_log_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is answered, and the server prints no traceback for it; of what really breaks it does."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    app = application(tmp_path, "127.0.0.1", None)
    app.router.add_get("/breaks", _breaks)
    served = asyncio.ensure_future(view.serve(app, "127.0.0.1", 0, address.set_result, stop.wait()))
    host = URL(await address)
    for said in (b"GET /?q=" + 20_000 * b"a" + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\x16\x03\x01\r\n\r\n"):
        reader, writer = await asyncio.open_connection(host.host, host.port)
        writer.write(said)
        assert b" 400 " in await reader.readline()
        writer.close()
    assert caplog.text == ""

    reader, writer = await asyncio.open_connection(host.host, host.port)
    writer.write(b"GET /breaks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert b" 500 " in await reader.readline()
    writer.close()
    assert "it broke" in caplog.text
    stop.set()
    await served


async def _breaks(_: web.Request) -> web.Response:
    message = "it broke"
    raise RuntimeError(message)


async def test_names_are_never_markup(browse: Browse, tmp_path: Path) -> None:
    cells = [Cell(0, HOSTILE, 1, None, 0)]
    made = RunWriter.create(tmp_path, replace(manifest(cells=cells), name="x")).folder
    hostile = made.rename(tmp_path / HOSTILE.replace("/", "_"))
    told = json.loads((hostile / "run.json").read_text())
    told["name"], told["notes"], told["study"] = HOSTILE, [HOSTILE], {"arms": {HOSTILE: {}}}
    (hostile / "run.json").write_text(json.dumps(told))
    (hostile / HOSTILE).write_text("x")
    client = await browse()
    for path in ("/", f"/?q={HOSTILE}"):
        page = await text(client, path)
        assert "<img" not in page
        assert "&lt;img" in page
    page = await text(client, f"/runs/{quote(hostile.name)}/")
    assert "<img" not in page
    assert "{{ 7 * 7 }}" in page
    assert await text(client, f"/runs/{quote(hostile.name)}/files/{quote(HOSTILE)}") == "x"


@pytest.mark.parametrize(
    "path",
    [
        "/runs/{run}/files/../secret",
        "/runs/{run}/files/%2e%2e/secret",
        "/runs/{run}/files/..%2fsecret",
        "/runs/{run}/files/%2fetc/passwd",
        "/runs/{run}/files/link",
        "/runs/{run}/files/folder-link/secret",
        "/runs/../secret/",
        "/runs/%2e%2e/",
        "/static/..%2fapplication.py",
        "/static/pages.py",
    ],
)
async def test_no_path_leads_out_of_a_run(browse: Browse, tmp_path: Path, path: str) -> None:
    runs = tmp_path
    made = make_run(runs)
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir(exist_ok=True)
    (outside / "secret").write_text("secret")
    (runs / "secret").write_text("secret")
    (made / "link").symlink_to(runs / "secret")
    (made / "folder-link").symlink_to(outside)
    client = await browse()
    answer = await client.session.get(URL(str(client.make_url("/"))[:-1] + path.format(run=made.name), encoded=True))
    assert answer.status in (403, 404)
    assert (await answer.text()).strip() != "secret"


async def test_files_of_a_run_run_nothing(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    (made / "evil.html").write_text("<script>alert(1)</script>")
    (made / "evil.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    client = await browse()
    for name in ("evil.html", "evil.svg"):
        answer = await client.get(f"/runs/{made.name}/files/{name}")
        assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_other_names_for_this_machine_are_refused(browse: Browse, tmp_path: Path) -> None:
    make_run(tmp_path)
    client = await browse()
    answer = await client.get("/", headers={"Host": "evil.example:8321"})
    assert answer.status == 403
    assert (await client.get("/", headers={"Host": "localhost:8321"})).status == 200
    assert (await client.get("/", headers={"Host": "[::1]:8321"})).status == 200
    assert (await client.get("/", headers={"Host": "[::1"})).status == 403


async def test_strangers_need_the_token_and_get_a_cookie_for_it(browse: Browse, tmp_path: Path) -> None:
    make_run(tmp_path)
    client = await browse("0.0.0.0", "open-sesame")
    assert (await client.get("/")).status == 403
    assert (await client.get("/?token=wrong")).status == 403
    entered = await client.get("/?q=a&token=open-sesame", allow_redirects=False)
    assert entered.status == 303
    assert entered.headers["Location"] == "/?q=a"
    assert "HttpOnly" in entered.headers["Set-Cookie"]
    client.session.cookie_jar.clear()
    cookie = entered.headers["Set-Cookie"].split(";")[0]
    assert (await client.get("/", headers={"Cookie": cookie})).status == 200


async def test_runs_come_and_go(browse: Browse, tmp_path: Path) -> None:
    client = await browse()
    assert "There are no runs here yet" in await text(client, "/")
    made = make_run(tmp_path)
    assert made.name in await text(client, "/")
    shutil.rmtree(made)
    assert made.name not in await text(client, "/")
    await text(client, f"/runs/{made.name}/", 404)


async def test_a_folder_that_is_closed_to_us_hides_no_other_run(
    browse: Browse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, shut = make_run(tmp_path), make_run(tmp_path)
    look = Path.is_file

    def guarded(path: Path) -> bool:  # permissions do not apply to root, who may run this
        if path.parent == shut:
            raise PermissionError(path)
        return look(path)

    monkeypatch.setattr(Path, "is_file", guarded)
    client = await browse()
    page = await text(client, "/")
    assert made.name in page
    assert page.count('type="checkbox"') == 1
    await text(client, f"/runs/{shut.name}/", 404)


def test_a_file_that_goes_while_files_are_listed_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("1234")
    monkeypatch.setattr(files, "_inside", lambda folder: iter([folder / "kept", folder / "run.json.partial"]))
    assert files.files_of(tmp_path) == [files.RunFile("kept", 4)]


async def test_five_hundred_runs(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    for number in range(499):
        copy = tmp_path / f"copy-{number:03}"
        copy.mkdir()
        (copy / "run.json").symlink_to(made / "run.json")
    client = await browse()
    page = await text(client, "/")
    assert page.count('type="checkbox"') == 500


async def test_metrics_of_a_run_under_way(browse: Browse, tmp_path: Path) -> None:
    make_run(tmp_path)
    folder = running(tmp_path)
    client = await browse()
    told = await text(client, "/metrics")
    assert f'whichbits_cells{{run="{folder.name}",state="done"}} 1' in told
    assert f'whichbits_cells{{run="{folder.name}",state="planned"}} 1' in told
    assert "synthetic" not in told


async def test_the_older_run_is_the_baseline_until_another_is_chosen(browse: Browse, tmp_path: Path) -> None:
    old, new = made_at(tmp_path, "2026-01-01T00:00:00Z"), made_at(tmp_path, "2026-02-02T00:00:00Z", per_stream=5)
    client = await browse()
    for first, second in ((new, old), (old, new)):
        page = await text(client, f"/compare?run={first}&run={second}")
        assert f"{old}</a> (baseline)" in page
        assert f"{new}:bf16 against {old}:bf16" in page
    turned = f"/compare?run={old}&run={new}&baseline={new}"
    assert f'href="{turned.replace("&", "&amp;")}"' in page
    assert f"{new}</a> (baseline)" in await text(client, turned)


async def test_a_run_offers_what_it_can_be_compared_with(browse: Browse, tmp_path: Path) -> None:
    here = made_at(tmp_path, "2026-01-01T00:00:00Z")
    alike = made_at(tmp_path, "2026-01-02T00:00:00Z", per_stream=5)
    other_arms = made_at(tmp_path, "2026-01-03T00:00:00Z", arms={"x": TWO_ARMS["bf16"], "y": TWO_ARMS["w4a16"]})
    other_loads = made_at(tmp_path, "2026-01-04T00:00:00Z", loads=(7,))
    client = await browse()
    page = await text(client, f"/runs/{here}/")
    assert f'<option value="{alike}">' in page
    assert f'<option value="{other_arms}">' not in page
    assert f'<option value="{other_loads}">' not in page
    refused = await text(client, f"/compare?run={here}&run={other_arms}", 422)
    assert "Choose runs that have an arm of the same name at the same load." in refused
    assert "NAME=PATH" not in refused


async def test_an_answer_stands_with_its_doubts(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    rebuild_reports(made, json_to_stdout=False, show=lambda *_: None)
    client = await browse()
    assert "(few samples, one repeat)" in " ".join((await text(client, "/")).split())
    assert "(few samples, one repeat)" in " ".join((await text(client, f"/runs/{made.name}/")).split())


async def test_the_date_of_a_name_is_not_broken(browse: Browse, tmp_path: Path) -> None:
    made = make_run(tmp_path)
    date, rest = made.name[:15], made.name[15:]
    assert f'<span class="unbroken">{date}</span>{rest}' in await text(await browse(), "/")


def made_at(parent: Path, created: str, **how: Any) -> str:
    """Make a run that says it was made then, and return its name."""
    made = make_run(parent, **how)
    told = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(json.dumps(told | {"created": created}))
    return made.name
