"""``python -m whichbits.serve.embedded``: flags in, one server, exit code out."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from whichbits.errors import WhichbitsError
from whichbits.serve.embedded.client import EngineClient
from whichbits.serve.embedded.facts import announce, say
from whichbits.serve.embedded.messages import EngineSettings
from whichbits.serve.embedded.metrics import EngineMetrics
from whichbits.serve.embedded.server import Server
from whichbits.serve.embedded.tokens import load_tokens
from whichbits.serve.embedded.weights.openvino_ir import folder_of

_LAST_EVENTS_SECONDS = 0.5  # time for streams to end with the cause after the engine died


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal (0) or until the engine dies (1); 2 if the model cannot be read."""
    flags = _parser().parse_args(arguments)
    try:
        return asyncio.run(_serve(flags, _settings(flags)))
    except (WhichbitsError, OSError) as error:
        say("ERROR", " ".join(str(error).split()))
        return 2


def _parser() -> argparse.ArgumentParser:
    defaults = EngineSettings(model="")
    parser = argparse.ArgumentParser(prog="python -m whichbits.serve.embedded", description=__doc__)
    parser.add_argument("--model", required=True, help="path of a .gguf file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--served-model-name", help="default: the file's name without .gguf")
    parser.add_argument(
        "--dynamic-quantization-group-size", type=int, default=0, help="0 keeps activations as they are"
    )
    parser.add_argument("--kv-cache-gib", type=int, default=defaults.kv_cache_gib)
    parser.add_argument("--kv-cache-dtype", choices=["f16", "u8"], default=defaults.kv_cache_dtype)
    parser.add_argument("--max-num-seqs", type=int, default=defaults.max_num_seqs)
    parser.add_argument("--max-num-batched-tokens", type=int, default=defaults.max_num_batched_tokens)
    parser.add_argument(
        "--enable-prefix-caching",
        action=argparse.BooleanOptionalAction,
        default=defaults.enable_prefix_caching,
    )
    parser.add_argument("--threads", type=int, help="default: OpenVINO's choice, one a core")
    return parser


def _settings(flags: argparse.Namespace) -> EngineSettings:
    chosen = vars(flags)
    return EngineSettings(**{name: chosen[name] for name in EngineSettings.__struct_fields__})


async def _serve(flags: argparse.Namespace, settings: EngineSettings) -> int:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    name = flags.served_model_name or Path(flags.model).stem
    metrics = EngineMetrics(name)
    engine = EngineClient(settings, metrics)
    server = Server(name, engine, metrics)
    # Cancelled with the connection, so that a client that leaves stops its answer at once.
    runner = web.AppRunner(server.application(), access_log=None, handler_cancellation=True, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, flags.host, flags.port).start()
    await engine.start()
    opening = asyncio.create_task(_open(server, engine, metrics, settings))
    try:
        return await _until_end(stopped, engine)
    finally:
        opening.cancel()
        await engine.stop()
        await runner.cleanup()


async def _open(server: Server, engine: EngineClient, metrics: EngineMetrics, settings: EngineSettings) -> None:
    ready = await engine.ready_or_dead()
    if ready is not None:
        metrics.configured(ready)
        tokens = load_tokens(Path(settings.model), folder_of(Path(settings.model)))
        announce("context", max_model_len=min(tokens.longest, ready.kv_cache_tokens))
        server.open(tokens)
        say("INFO", "ready")


async def _until_end(stopped: asyncio.Event, engine: EngineClient) -> int:
    stop = asyncio.ensure_future(stopped.wait())
    ends: set[asyncio.Future[Any]] = {stop, engine.death}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if stop.done():
        return 0
    await asyncio.sleep(_LAST_EVENTS_SECONDS)
    return 1


if __name__ == "__main__":
    sys.exit(main())
