"""The engine process: one loop that takes commands, steps the pipeline and reports each step once."""

import gc
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import openvino
import openvino_genai as genai

from whichbits.language.amounts import amount
from whichbits.serve.embedded.facts import announce, say
from whichbits.serve.embedded.messages import (
    LENGTH,
    Add,
    Cancel,
    Died,
    EngineSettings,
    FromEngine,
    Output,
    Ready,
    ResetDone,
    ResetPrefixCache,
    Step,
    ToEngine,
    decode_to_engine,
    frame,
)
from whichbits.serve.embedded.pipeline import (
    Blocks,
    build_pipeline,
    compile_properties,
    echoed_logprobs,
    finish_reason,
    generation_config,
    measure_blocks,
)
from whichbits.serve.embedded.probe import probe_linear_layer
from whichbits.serve.embedded.weights.gguf_header import read_gguf_header
from whichbits.serve.embedded.weights.openvino_ir import openvino_folder

_GIB = 2**30


class Connection:
    """The engine's end of the pair of sockets; an end of file means that the HTTP process is gone."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, message: FromEngine) -> None:
        self._socket.sendall(frame(message))

    def pending(self, *, wait: bool) -> bool:
        """True if a command can be read now; ``wait`` blocks until there is one."""
        return bool(select.select([self._socket], [], [], None if wait else 0)[0])

    def receive(self) -> ToEngine:
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        return decode_to_engine(self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        data = self._socket.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise EOFError
        return data


class Engine:
    """The pipeline and the answers under way."""

    def __init__(self, settings: EngineSettings, connection: Connection) -> None:
        self._settings = settings
        self._connection = connection
        gguf = Path(settings.model)
        self._end: int | None = read_gguf_header(gguf).get("tokenizer.ggml.eos_token_id")
        started = time.monotonic()
        self._folder = openvino_folder(gguf)
        self._tokenizer = genai.Tokenizer(self._folder)
        self._pipeline: Any = build_pipeline(self._folder, self._tokenizer, settings)
        self._handles: dict[int, Any] = {}
        self._to_echo: dict[int, int] = {}
        self._cancelled = False
        announce("model loaded", model_load_seconds=round(time.monotonic() - started, 3))

    def make_ready(self) -> None:
        """Compute once, log what was built, and say that requests may come."""
        started = time.monotonic()
        blocks = measure_blocks(self._pipeline)
        self._announce(blocks)
        announce("engine ready", init_engine_seconds=round(time.monotonic() - started, 3))
        self._connection.send(Ready(blocks.tokens, blocks.tokens_each))

    def run(self) -> None:
        """Take commands and step, until the other side hangs up."""
        while True:
            while self._connection.pending(wait=not self._busy()):
                self._obey(self._connection.receive())
            if self._busy():
                self._connection.send(self._step())

    def _busy(self) -> bool:
        return bool(self._handles) or self._cancelled

    def _obey(self, command: ToEngine) -> None:
        match command:
            case Add():
                self._add(command)
            case Cancel(sequence):
                handle = self._handles.pop(sequence, None)
                self._to_echo.pop(sequence, None)
                if handle is not None:
                    handle.cancel()
                    self._cancelled = True  # its blocks come back with the next step
            case ResetPrefixCache():
                self._connection.send(self._reset())

    def _add(self, request: Add) -> None:
        prompt = openvino.Tensor(np.array([request.prompt], dtype=np.int64))
        config = generation_config(request.sampling, self._end)
        try:
            handle = self._pipeline.add_request(request.sequence, prompt, config)
        except RuntimeError as refusal:  # what OpenVINO refuses in one request must not end the others
            self._connection.send(Output(request.sequence, [], None, "abort", " ".join(str(refusal).split())))
        else:
            self._handles[request.sequence] = handle
            if request.sampling.echo:
                self._to_echo[request.sequence] = len(request.prompt)

    def _step(self) -> Step:
        started = time.monotonic()
        self._pipeline.step()
        seconds = time.monotonic() - started
        self._cancelled = False
        outputs = [
            output for sequence, handle in list(self._handles.items()) for output in self._read(sequence, handle)
        ]
        metrics = self._pipeline.get_metrics()
        scheduled = min(int(metrics.scheduled_requests), len(self._handles))
        usage = float(metrics.cache_usage) / 100 if self._handles else 0.0
        return Step(outputs, scheduled, len(self._handles) - scheduled, usage, seconds)

    def _read(self, sequence: int, handle: Any) -> list[Output]:
        if not handle.can_read():
            return self._ended_silently(sequence, handle)
        (generated,) = handle.read().values()
        finished = finish_reason(generated.finish_reason)
        if finished is not None:
            del self._handles[sequence]
        tokens, logprobs = list(generated.generated_ids), list(generated.generated_log_probs)
        echoed = echoed_logprobs(logprobs, len(tokens), self._to_echo.get(sequence, 0))
        new = len(tokens) - self._to_echo.pop(sequence, 0)
        return [Output(sequence, tokens[-new:], logprobs[-new:], finished, prompt_logprobs=echoed)]

    def _ended_silently(self, sequence: int, handle: Any) -> list[Output]:
        if handle.get_status() == genai.GenerationStatus.RUNNING:
            return []
        del self._handles[sequence]
        self._to_echo.pop(sequence, None)
        reason = "the KV cache is too small for this request"
        return [Output(sequence, [], None, "abort", reason)]

    def _reset(self) -> ResetDone:
        if self._handles:
            return ResetDone(success=False, reason=f"blocks are held by {amount(len(self._handles), 'request')}")
        self._pipeline = self._rebuilt()
        return ResetDone(success=True, reason="the pipeline was built anew with an empty cache")

    def _rebuilt(self) -> Any:
        # OpenVINO GenAI has no call that empties the prefix cache; a new pipeline has an empty one.
        self._pipeline = None
        gc.collect()
        return build_pipeline(self._folder, self._tokenizer, self._settings)

    def _announce(self, blocks: Blocks) -> None:
        probe = probe_linear_layer(self._folder, compile_properties(self._settings))
        core = openvino.Core()
        announce(
            "engine",
            engine_version=genai.__version__,
            device_name=core.get_property("CPU", "FULL_DEVICE_NAME"),
            device_capabilities=" ".join(core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")),
        )
        announce(
            "weights",
            model_memory_gib=(self._folder / "openvino_model.bin").stat().st_size / _GIB,
            quantization=probe.weights,
            quant_kernels=probe.kernel,
            activation_quantization_effective=probe.activation_quantization_effective,
        )
        announce(
            "KV cache",
            kv_cache_tokens=blocks.tokens,
            kv_cache_memory_gib=self._pipeline.get_metrics().kv_cache_size_in_bytes / _GIB,
            enable_prefix_caching=self._settings.enable_prefix_caching,
        )
        announce(
            "limits",
            max_num_seqs=self._settings.max_num_seqs,
            max_num_batched_tokens=self._settings.max_num_batched_tokens,
        )


def main(descriptor: int, settings: EngineSettings) -> int:
    """Serve the socket ``descriptor`` until it closes; 1 if the engine died."""
    connection = Connection(socket.socket(fileno=descriptor))
    try:
        engine = Engine(settings, connection)
        engine.make_ready()
        engine.run()
    except (EOFError, ConnectionError):  # the HTTP process is gone
        return 0
    except Exception as error:  # noqa: BLE001 - whatever ended the engine is logged and told, then the process ends
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}"
        say("ERROR", f"the engine died: {cause}")
        connection.send(Died(cause))
        return 1
    return 0


if __name__ == "__main__":
    # Ctrl-C reaches the whole process group; the HTTP process decides when the engine ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # OpenVINO prints the compiled model's real properties at this level; facts are read from there.
    os.environ["OPENVINO_LOG_LEVEL"] = "3"
    sys.exit(main(int(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=EngineSettings)))
