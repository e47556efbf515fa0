"""``python -m whichbits.serve.embedded``: one model, one engine process, one port."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

import uvloop

from whichbits.errors import WhichbitsError
from whichbits.serve.embedded.client import EngineClient
from whichbits.serve.embedded.facts import announce, say
from whichbits.serve.embedded.messages import EngineSettings
from whichbits.serve.embedded.metrics import EngineMetrics
from whichbits.serve.embedded.server import Server, serve
from whichbits.serve.embedded.text import TextModel

_ENGINE_DIED = 1


def main() -> int:
    """Serve until a signal or the engine's death; 0 after a signal, 1 after a death."""
    arguments = _parser().parse_args()
    try:
        return uvloop.run(_serve(arguments))
    except WhichbitsError as error:
        say("ERROR", " ".join(str(error).split()))
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m whichbits.serve.embedded", description=__doc__)
    parser.add_argument("--model", required=True, help="a .gguf file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--served-model-name", default=None)
    parser.add_argument("--dynamic-quantization-group-size", type=int, default=0, help="0: activations as they are")
    parser.add_argument("--kv-cache-gib", type=int, default=1)
    parser.add_argument("--kv-cache-dtype", choices=("f16", "u8"), default="f16")
    parser.add_argument("--max-num-seqs", type=int, default=64)
    parser.add_argument("--max-num-batched-tokens", type=int, default=512)
    parser.add_argument("--enable-prefix-caching", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--threads", type=int, default=None)
    return parser


def _settings(arguments: argparse.Namespace) -> EngineSettings:
    return EngineSettings(
        model=arguments.model,
        dynamic_quantization_group_size=arguments.dynamic_quantization_group_size,
        kv_cache_gib=arguments.kv_cache_gib,
        kv_cache_dtype=arguments.kv_cache_dtype,
        max_num_seqs=arguments.max_num_seqs,
        max_num_batched_tokens=arguments.max_num_batched_tokens,
        enable_prefix_caching=arguments.enable_prefix_caching,
        threads=arguments.threads,
    )


async def _serve(arguments: argparse.Namespace) -> int:
    text = TextModel(Path(arguments.model))
    announce("model", max_model_len=text.max_model_len)
    metrics = EngineMetrics()
    client = EngineClient(_settings(arguments), metrics)
    await client.start()
    over = asyncio.ensure_future(_signal_or_death(client))
    try:
        name = arguments.served_model_name or Path(arguments.model).stem
        await serve(Server(client, metrics, text, name).application(), arguments.host, arguments.port, over)
    except OSError as error:
        say("ERROR", f"cannot listen on {arguments.host}:{arguments.port}: {error.strerror}")
        return _ENGINE_DIED
    finally:
        over.cancel()
        await client.stop()
    return _ENGINE_DIED if client.death.done() else 0


async def _signal_or_death(client: EngineClient) -> None:
    """Return when the process should end; after a death, open streams get a moment to say so."""
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[None] = loop.create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: asked.done() or asked.set_result(None))
    await asyncio.wait({asked, client.death}, return_when=asyncio.FIRST_COMPLETED)
    if client.death.done():
        say("ERROR", f"the engine died: {client.death.result()}")
        await asyncio.sleep(1.0)


if __name__ == "__main__":
    sys.exit(main())
