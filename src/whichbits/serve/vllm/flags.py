"""A study's settings as flags of vLLM's server, in the spelling of the version at hand."""

import json
from collections.abc import Iterator, Mapping

from whichbits.errors import BadInput
from whichbits.serve.engine import Place
from whichbits.serve.vllm.interpreter import PROFILER_BY_FLAG, InstalledVllm, Release
from whichbits.study.arm import Arm
from whichbits.study.gpus import share_among

Value = str | int | float | bool

# From each of these releases on a switch can be turned off by name. Before, off is the default and has no name.
_NEGATABLE: Mapping[str, Release] = {"enable_prefix_caching": (0, 6, 6), "enforce_eager": (0, 10, 0)}
_KV_CACHE_CAN_BE_SIZED: Release = (0, 11, 0)
_BYTES_PER_GIB = 1 << 30
_KV_CACHE_FLAG = "kv_cache_memory_bytes"
_REQUESTS_NOT_LOGGED_BY_DEFAULT: Release = (0, 10, 1)
_ACCESS_LOG_CAN_BE_SILENCED: Release = (0, 8, 5)

_OURS = {
    "host": "whichbits drives over loopback",
    "port": "whichbits picks a free one",
    "model": "it is the arm's own key",
    "served_model_name": "it is the arm's own key",
    "tensor_parallel_size": "it is the arm's own key, and decides which GPUs each replica gets",
    "headless": "without an API server there is nothing to send to",
    "grpc": "whichbits speaks HTTP",
    "api_key": "the server listens on loopback only, and a run's record shows its command",
    "hf_token": "a run's record shows the command; export HF_TOKEN instead",
}


def server_flags(arm: Arm, installed: InstalledVllm, place: Place) -> tuple[str, ...]:
    """Return the flags that follow model, address and name.

    Raises:
        BadInput: ``vllm_option`` if an option says again what a setting or whichbits itself says, or the version
            has no such setting.
    """
    check_options(arm)
    settings = arm.settings()
    if (kv_cache_gib := settings.pop("kv_cache_gib", None)) is not None:
        _insist_on_a_sized_cache(installed)
        settings[_KV_CACHE_FLAG] = round(float(kv_cache_gib) * _BYTES_PER_GIB)
    if (share := shared_memory(arm, installed, place)) is not None:
        settings["gpu_memory_utilization"] = share
    flags = [word for name, value in settings.items() for word in _setting(name, value, installed.release)]
    flags += [word for name, value in arm.options.items() for word in _option(_plain(name), value)]
    return (*flags, *_quiet(arm, installed.release), *_profiler(arm, installed.release, place))


def is_sized(arm: Arm) -> bool:
    """Return whether the arm says what memory its KV cache takes."""
    return arm.kv_cache_gib is not None or _KV_CACHE_FLAG in map(_plain, arm.options)


def shared_memory(arm: Arm, installed: InstalledVllm, place: Place) -> float | None:
    """Return the share of a device that each of an arm's servers on it gets.

    None where the arm says it, or a server has its device alone. All replicas share the memory of a processor.
    """
    servers = arm.replicas if installed.on_cpu else place.servers_per_gpu
    given = arm.gpu_memory_utilization is not None or "gpu_memory_utilization" in map(_plain, arm.options)
    if given or servers == 1:
        return None
    return share_among(servers)


def _setting(name: str, value: Value, release: Release) -> tuple[str, ...]:
    if value is False and release < _NEGATABLE.get(name, release):
        return ()
    return _option(name, value)


def _option(name: str, value: Value) -> tuple[str, ...]:
    dashed = name.replace("_", "-")
    if isinstance(value, bool):
        return (f"--{dashed}" if value else f"--no-{dashed}",)
    return (f"--{dashed}", str(value))


def _quiet(arm: Arm, release: Release) -> Iterator[str]:
    """Keep lines of single requests out of the log: they cost time in the server, and hide its own words."""
    given = set(map(_plain, arm.options))
    asked_for = {"disable_log_requests", "enable_log_requests"} & given
    if release < _REQUESTS_NOT_LOGGED_BY_DEFAULT and not asked_for:
        yield "--disable-log-requests"
    if release >= _ACCESS_LOG_CAN_BE_SILENCED and "disable_uvicorn_access_log" not in given:
        yield "--disable-uvicorn-access-log"


def _profiler(arm: Arm, release: Release, place: Place) -> Iterator[str]:
    """Have a profiler wait to be switched on: of the workers only, and without Python's stacks, which cost most."""
    if place.trace_folder is None or release < PROFILER_BY_FLAG:
        return
    for option in arm.options:
        if _plain(option).startswith("profiler_config"):
            raise _clash(option, "the study's `profile` says it already")
    config = {
        "profiler": "torch",
        "torch_profiler_dir": str(place.trace_folder),
        "torch_profiler_with_stack": False,
        "ignore_frontend": True,
    }
    yield from ("--profiler-config", json.dumps(config))


def check_options(arm: Arm) -> None:
    """Refuse options that say again what a setting or whichbits itself says, or that hold a secret.

    Raises:
        BadInput: ``vllm_option``.
    """
    for option in arm.options:
        name = _plain(option)
        if name in _OURS:
            raise _clash(option, _OURS[name])
        if name in arm.settings():
            raise _clash(option, "the arm's own key of that name says it already")
        if name == _KV_CACHE_FLAG and arm.kv_cache_gib is not None:
            raise _clash(option, "the arm's kv_cache_gib says it already")


def _insist_on_a_sized_cache(installed: InstalledVllm) -> None:
    if installed.release < _KV_CACHE_CAN_BE_SIZED:
        raise BadInput(
            "vllm_option",
            f"vLLM {installed.version} cannot be told the size of its KV cache",
            why="--kv-cache-memory-bytes came with 0.11; earlier versions measure free memory and take their share",
            fix="leave kv_cache_gib out, or name an interpreter that has a later vLLM",
        )


def _clash(option: str, why: str) -> BadInput:
    return BadInput(
        "vllm_option",
        f"options cannot hold {option!r}",
        why=why,
        fix="leave it out of options",
    )


def _plain(option: str) -> str:
    return option.lstrip("-").replace("-", "_")
