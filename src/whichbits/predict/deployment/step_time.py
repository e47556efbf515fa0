"""How long a step takes on a GPU, term by term: products, attention, small kernels, launches, the host.

A product of M tokens with a matrix takes ``fixed + (bytes^p + math^p)^(1/p)``: a fixed time that every kernel needs to
start and to drain, then reading the weights and multiplying, which overlap but not perfectly. AIConfigurator's tables
for A100, L40S, H100, H200 and RTX PRO 6000 show why: over formats, what a product takes longer than its bytes at the
asymptotic bandwidth is the same few microseconds, so that "efficiency" falls as weights shrink though the kernel is no
worse.
"""

from dataclasses import replace

import numpy as np

from whichbits.predict.constants import Constants
from whichbits.predict.deployment.deployment import Deployment
from whichbits.predict.deployment.links import link_of
from whichbits.predict.deployment.matrices import Matrix, expert_share
from whichbits.predict.simulation.pace import Idle, Pace
from whichbits.traffic.draws import Floats

_US = 1e-6
_OVERLAP = 2.5
"""The p above: 2.5 lies between AIConfigurator's L40S (2) and H100 (4) around the ridge."""
_LAUNCH_OVERLAP = 4
"""Without graphs the host launches every kernel itself, mostly while the GPU works: the longer of the two decides."""
_SAMPLER_BYTES = 12
"""Bytes a logit is read and written: cast to 32 bits, arg max or softmax."""


def pace_of(deployment: Deployment, constants: Constants) -> Pace:
    """Return the tables of a replica: every batch up to ``max_num_seqs``, every step up to the token budget."""
    steps = _Steps(deployment, constants)
    sequences, budget = deployment.max_num_seqs, deployment.max_num_batched_tokens
    batch = np.arange(sequences + 1, dtype=np.float64)
    tokens = np.arange(budget + sequences + 1, dtype=np.float64)
    head = steps.head(batch)
    padded = batch if deployment.eager else _graph_size(batch)
    scale = constants["model.step"]
    prefill = scale * constants["model.prefill"]
    host = constants["host.slowness"] * _US
    return Pace(
        decode=(scale * (steps.body(padded) + head)).tolist(),
        mixed=(prefill * steps.mixed(tokens)).tolist(),
        head=(scale * head).tolist(),
        per_kv_token=scale * steps.per_kv_token,
        per_attended_pair=prefill * steps.per_attended_pair,
        per_prefill_kv_token=scale * steps.per_kv_token,
        request_in=max(constants["front.request_us"] - constants["front.turn_us"], 0.0) * host,
        request_turn=constants["front.turn_us"] * host,
        token_turn=constants["front.token_us"] * host,
        loop_turns=constants["front.loop_turns"],
        token_out=constants["front.out_us"] * host,
        idle=_idle(steps, padded, tokens, (scale, prefill)) if deployment.placing else None,
    )


def _idle(steps: "_Steps", batch: Floats, tokens: Floats, scales: tuple[float, float]) -> Idle:
    """Return what of each step the GPU does not work: it waits for the host, or for launches."""
    scale, prefill = scales
    head = steps.head_host(np.arange(len(batch), dtype=np.float64))
    return Idle(
        decode=(scale * (steps.body(batch) - steps.on_gpu(batch) + head)).tolist(),
        mixed=(prefill * (steps.mixed(tokens) - steps.on_gpu(tokens))).tolist(),
        head=(scale * head).tolist(),
    )


class _Steps:
    """The terms of one deployment under one set of constants; arrays in, seconds out."""

    def __init__(self, deployment: Deployment, constants: Constants) -> None:
        self._it, self._constants = deployment, constants
        device, architecture = deployment.device, deployment.architecture
        self._bandwidth = device.bandwidth_gb_s * 1e9
        self._power = constants.get(f"power.{device.name}", 1.0)
        self._fixed = constants[f"gemm.{architecture}.fixed_us"] * _US
        self._host = constants["host.slowness"] * _US
        self._memory = constants[f"gemm.{architecture}.memory"]

    @property
    def per_kv_token(self) -> float:
        """Seconds that a token in the KV cache costs each step."""
        return self._it.kv_bytes_per_token / (self._bandwidth * self._constants["attention.decode_memory"])

    @property
    def per_attended_pair(self) -> float:
        """Seconds of prefill that one new token costs for each token it looks at."""
        hopper = "_hopper" if self._it.architecture == "hopper" else ""
        reached = self._constants[f"attention.prefill_math{hopper}"] * self._peak("16") * self._power
        return self._it.checkpoint.attention_flops_per_context_token / self._it.gpus / reached

    def on_gpu(self, tokens: Floats) -> Floats:
        """Return how long the GPU works on all layers of a step of ``tokens``, if nothing keeps it waiting."""
        products = sum((self._product(matrix, tokens) for matrix in self._it.matrices), np.zeros_like(tokens))
        seconds: Floats = products + self._small_kernels(tokens) + self._routing() + self._all_reduce(tokens)
        return seconds

    def body(self, tokens: Floats) -> Floats:
        """Return the time of all layers and of the host for a step of ``tokens``."""
        on_gpu = self.on_gpu(tokens)
        if self._it.eager:
            old = self._it.version.generation == "v0"
            on_gpu = self._launched(on_gpu, "layer.old_eager_us" if old else "layer.eager_us")
        return on_gpu + self._host_step()

    def mixed(self, tokens: Floats) -> Floats:
        """Return ``body`` of steps that carry a prefill: since V1 their graphs are in pieces around each attention."""
        if self._it.eager or self._it.version.generation == "v0":
            return self.body(tokens)
        return self._launched(self.body(tokens), "layer.pieces_us")

    def _launched(self, seconds: Floats, a_layer: str) -> Floats:
        """Return how long it takes if the host launches every layer by itself while the GPU works."""
        launches = self._it.checkpoint.layers * self._constants[a_layer] * self._host
        waiting: Floats = (seconds**_LAUNCH_OVERLAP + launches**_LAUNCH_OVERLAP) ** (1 / _LAUNCH_OVERLAP)
        return waiting

    def head(self, sampled: Floats) -> Floats:
        """Return the time of the last projection, the sampler and the host's part for each request."""
        checkpoint, gpus = self._it.checkpoint, self._it.gpus
        projection = Matrix(1, 2 * checkpoint.lm_head_parameters / gpus, checkpoint.lm_head_parameters / gpus, 0, False)
        logits = sampled * checkpoint.vocabulary * _SAMPLER_BYTES / (self._bandwidth * self._memory)
        seconds: Floats = np.where(sampled > 0, self._product(projection, sampled) + logits, 0.0)
        return seconds + self.head_host(sampled)

    def head_host(self, sampled: Floats) -> Floats:
        """Return the host's part of it."""
        return sampled * self._constants[f"host.{self._it.version.generation}.request_us"] * self._host

    def _product(self, matrix: Matrix, tokens: Floats) -> Floats:
        kernel = self._it.kernel if matrix.quantised else None
        family = "dense" if kernel is None else kernel.family
        table = f"kernel.{family}.{self._it.architecture}"
        speed = self._bandwidth * self._memory * self._constants[f"{table}.memory"]
        peak = self._peak("16" if kernel is None else kernel.operands)
        unpack = self._constants.get(f"{table}.unpack", 0.0)
        speed = min(speed, unpack * peak) if unpack else speed
        reached = peak * self._constants[f"{table}.math"] * self._power
        if matrix.met < 1:
            speed *= self._constants["experts.memory"]
            reached *= self._constants["experts.math"]
        whole = matrix.stored_bytes / speed
        read = whole * matrix.read_share(tokens)
        multiply = 2 * matrix.met * matrix.parameters * tokens / reached
        quantise = np.zeros_like(tokens)
        if kernel is not None and kernel.operands != "16":
            moved = 3 * matrix.inputs * tokens / (self._bandwidth * self._constants["layer.small_memory"])
            alone = "layer.quantise_us" if self._it.eager else "layer.fused_quantise_us"
            quantise = self._constants[alone] * _US + moved
        overlapped = (read**_OVERLAP + multiply**_OVERLAP) ** (1 / _OVERLAP)
        filled = 1.0 if kernel is not None else min(1.0, 0.5 + 0.5 * whole / (self._constants["gemm.ramp_us"] * _US))
        seconds: Floats = matrix.count * (filled * self._fixed + overlapped + quantise)
        if kernel is not None and kernel.widens_at is not None:
            return np.where(tokens < kernel.widens_at, seconds, np.minimum(seconds, self._widened(matrix, tokens)))
        return seconds

    def _widened(self, matrix: Matrix, tokens: Floats) -> Floats:
        """Return the time of writing weights out in 16 bits and of a product with these."""
        wide = replace(matrix, stored_bytes=2 * matrix.parameters, quantised=False)
        written = (matrix.stored_bytes + wide.stored_bytes) / (self._bandwidth * self._memory)
        return self._product(wide, tokens) + matrix.count * (self._fixed + written)

    def _small_kernels(self, tokens: Floats) -> Floats:
        """Norms with residuals, rotary embedding, activation: bytes of 16-bit values in and out."""
        checkpoint = self._it.checkpoint
        attention = (checkpoint.heads + 2 * checkpoint.kv_heads) * checkpoint.head_dim
        width = 16 * checkpoint.hidden + 8 * attention + 6 * _active_intermediate(self._it)
        moved = checkpoint.layers * width * tokens / self._it.gpus
        fixed = self._constants["layer.fixed_us"]
        if self._it.version.generation == "v0":
            fixed = self._constants["layer.old_engine_us"]
        return moved / (self._bandwidth * self._constants["layer.small_memory"]) + checkpoint.layers * fixed * _US

    def _routing(self) -> float:
        """Choosing experts, sorting tokens by them and adding up what they said: small kernels beside the products."""
        layers = self._it.checkpoint.layers if self._it.checkpoint.experts else 0
        return layers * self._constants["experts.layer_us"] * _US

    def _all_reduce(self, tokens: Floats) -> Floats:
        """Two all-reduces a layer, each a start and, in a ring, 2 (n - 1) / n of the bytes through every link."""
        gpus = self._it.gpus
        if gpus == 1:
            return np.zeros_like(tokens)
        link = link_of(self._it.device.name)
        ring = 2 * (gpus - 1) / gpus * 2 * self._it.checkpoint.hidden * tokens
        carried = ring / (1e9 * link.gb_s * self._constants[f"link.{link.kind}.share"])
        start = self._constants[f"link.{link.kind}.start_us"] * _US
        return 2 * self._it.checkpoint.layers * (start + carried)

    def _host_step(self) -> float:
        return self._constants[f"host.{self._it.version.generation}.step_us"] * self._host

    def _peak(self, operands: str) -> float:
        """Return FLOP/s of one GPU; one without BF16 units computes in FP16."""
        device = self._it.device
        names = ("bf16", "fp16") if operands == "16" else (operands, "fp16")
        return 1e12 * next(peak for name in names if (peak := device.peak_tflops(name)) is not None)


def _active_intermediate(deployment: Deployment) -> float:
    """Return the width between gate and down that a token passes, over all its experts."""
    checkpoint = deployment.checkpoint
    down = [linear.inputs for linear in checkpoint.linears if linear.module.endswith("down_proj")]
    share = expert_share(checkpoint) if checkpoint.experts else 1.0
    return share * sum(down) / checkpoint.layers if down else 4.0 * checkpoint.hidden


def _graph_size(batch: Floats) -> Floats:
    """Return the captured batch that a decode step is padded to: 1, 2, 4, then multiples of 8 up to 512."""
    eights = np.ceil(batch / 8) * 8
    small = np.select([batch <= 0, batch <= 1, batch <= 2, batch <= 4], [0.0, 1.0, 2.0, 4.0], eights)
    return np.where(batch > 512, batch, small)
