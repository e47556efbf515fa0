"""What a started vLLM finds in its environment, on top of ours and below the arm's own."""

from collections.abc import Mapping

from whichbits.errors import BadInput
from whichbits.serve.engine import Place
from whichbits.serve.vllm.interpreter import PROFILER_BY_FLAG, InstalledVllm
from whichbits.study.arm import WeightFormat

_ALWAYS = {
    # /reset_prefix_cache and /server_info exist only in this mode; the server listens on loopback.
    "VLLM_SERVER_DEV_MODE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
    # A key that is exported for other servers would close this one to its own load.
    "VLLM_API_KEY": "",
}
_VISIBLE = "CUDA_VISIBLE_DEVICES"


def server_environment(
    installed: InstalledVllm, place: Place, weight_format: WeightFormat, ours: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables of a server at ``place``; ``ours`` is the environment that whichbits runs in.

    Raises:
        BadInput: ``vllm_gpu_hidden`` if the place has a GPU that our own environment hides.
    """
    always = _ALWAYS | _profiler(installed, place) | _activations(installed, weight_format)
    if place.gpus is None or installed.on_cpu:
        return always
    # By bus, as nvidia-smi counts: CUDA's own order puts the fastest device first.
    order = {"CUDA_DEVICE_ORDER": ours.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID")}
    return always | order | {_VISIBLE: ",".join(_devices(place.gpus, ours.get(_VISIBLE)))}


def _profiler(installed: InstalledVllm, place: Place) -> dict[str, str]:
    if place.trace_folder is None or installed.release >= PROFILER_BY_FLAG:
        return {}
    return {
        "VLLM_TORCH_PROFILER_DIR": str(place.trace_folder),
        "VLLM_TORCH_PROFILER_WITH_STACK": "0",
        "VLLM_TORCH_PROFILER_DISABLE_ASYNC_LLM": "1",
        # Writing a trace takes longer than older engines let a call take, in milliseconds.
        "VLLM_RPC_TIMEOUT": "1800000",
    }


def _activations(installed: InstalledVllm, weight_format: WeightFormat) -> dict[str, str]:
    """Say how wide activations are beside 4-bit weights: on processors with AMX vLLM rounds them to 8 bits unasked.

    The kernel's name in the log is the same either way.
    """
    return {"VLLM_CPU_INT4_W4A8": str(int(weight_format == "w4a8-int8"))} if installed.on_cpu else {}


def _devices(gpus: tuple[int, ...], visible: str | None) -> list[str]:
    """Count within the devices that a scheduler such as Slurm left us, which may be names."""
    if not visible:
        return [str(gpu) for gpu in gpus]
    devices = [device.strip() for device in visible.split(",")]
    if max(gpus) >= len(devices):
        raise BadInput(
            "vllm_gpu_hidden",
            f"GPU {max(gpus)} is not among the {len(devices)} that {_VISIBLE}={visible} leaves to whichbits",
            why="GPUs are counted from 0 within that variable",
            fix="name fewer or lower gpus, or unset the variable",
        )
    return [devices[gpu] for gpu in gpus]
