"""vLLM behind the engines' protocol."""

import os
from pathlib import Path

from whichbits.errors import BadInput
from whichbits.hardware.nvidia_smi import device_name, installed_gpus
from whichbits.record.schema import Fact
from whichbits.serve.endpoint.control import ControlClient
from whichbits.serve.engine import Launch, Place, Prepared
from whichbits.serve.gpus import places
from whichbits.serve.vllm.checkpoint import checkpoint_facts, checkpoint_folder
from whichbits.serve.vllm.entry import server_program
from whichbits.serve.vllm.environment import server_environment
from whichbits.serve.vllm.facts import log_facts, server_facts
from whichbits.serve.vllm.failure import cause_of_death
from whichbits.serve.vllm.flags import check_options, is_sized, server_flags
from whichbits.serve.vllm.interpreter import InstalledVllm, installed_vllm
from whichbits.serve.vllm.proof import contradictions, wrong_stored_bits
from whichbits.study.arm import Arm


class VllmEngine:
    """vLLM 0.6 to 0.33, in any interpreter of this machine or wherever it runs already."""

    name = "vllm"
    health_path = "/health"
    cache_reset_path = "/reset_prefix_cache"
    sleep_option = "enable_sleep_mode"

    def measures_free_memory(self, arm: Arm) -> bool:
        """Return whether the KV cache's size is left to vLLM, which then compares free memory before and after a step.

        With the size given it still runs that step, and looks at nothing that a neighbour changes
        (``determine_available_memory`` of v1/worker/gpu_worker.py, 0.25.1). A processor's memory is claimed otherwise.
        """
        return not is_sized(arm) or _installed(arm).on_cpu

    def check(self, arm: Arm) -> list[str]:
        """Make the command of each replica of an arm to be started, and hold its files against the claim.

        Of a running server the files say less: it may narrow them as somebody else has told it.

        Raises:
            BadInput: no vLLM there, no model at the path, or options or GPUs that are not the user's to give.
        """
        folder = checkpoint_folder(arm, os.environ)
        if arm.target is not None:
            return []
        check_options(arm)
        installed = _installed(arm)
        for place in places(arm, "127.0.0.1"):
            server_flags(arm, installed, place)
            server_environment(installed, place, arm.weight_format, os.environ)
        stored = None if folder is None else wrong_stored_bits(arm, checkpoint_facts(folder), {})
        return [] if stored is None else [stored]

    def prepare(self, arm: Arm) -> Prepared:
        """Find the interpreter and the checkpoint; vLLM itself fetches what a hub holds.

        Raises:
            BadInput: no vLLM there, no model at the path, or options that are not the user's to give.
        """
        if arm.target is None:
            check_options(arm)
            _installed(arm)
        folder = checkpoint_folder(arm, os.environ)
        return Prepared(arm.model, {} if folder is None else checkpoint_facts(folder))

    def command(self, arm: Arm, prepared: Prepared, place: Place) -> Launch:
        """Return the server's command and what it needs in its environment. Raises BadInput."""
        installed = _installed(arm)
        words = {
            "--host": place.host,
            "--port": str(place.port),
            "--served-model-name": self.served_model(arm),
        }
        address = [word for pair in words.items() for word in pair]
        program = server_program(arm, prepared.model_path)
        argv = (installed.python, *program, *address, *server_flags(arm, installed, place))
        return Launch(
            argv, server_environment(installed, place, arm.weight_format, os.environ), _device(installed, place)
        )

    def served_model(self, arm: Arm) -> str:
        """Return the name that requests use: the hub's, or the folder's."""
        return arm.served_model_name or (Path(arm.model).name if Path(arm.model).exists() else arm.model)

    def read_facts(self, log_text: str) -> dict[str, Fact]:
        """Return what the log says."""
        return log_facts(log_text)

    async def ask_facts(self, control: ControlClient) -> dict[str, Fact]:
        """Return what the server tells over HTTP."""
        return await server_facts(control)

    def failure(self, log_text: str) -> str | None:
        """Return the first real cause in the log, not what followed from it."""
        return cause_of_death(log_text)

    def verify(self, arm: Arm, checkpoint: dict[str, Fact], facts: dict[str, Fact]) -> list[str]:
        """Return the reasons why the arm is not what it claims; none if it is."""
        return contradictions(arm, checkpoint, facts)


def _device(installed: InstalledVllm, place: Place) -> dict[str, Fact]:
    """Name the cards that the server gets: vLLM's own log does not."""
    name = None if installed.on_cpu else device_name(installed_gpus(), place.gpus)
    return {} if name is None else {"device_name": Fact(name, "nvidia-smi")}


def _installed(arm: Arm) -> InstalledVllm:
    installed = installed_vllm(arm.python, arm.environment)
    if installed.on_cpu and arm.gpus is not None:
        raise BadInput(
            "vllm_no_gpus",
            f"the vLLM of {installed.python} ({installed.distribution} {installed.version}) computes on the processor",
            why="the arm names gpus, which would silently not be used",
            fix="leave gpus out, or name an interpreter that has vLLM for GPUs",
        )
    return installed
