"""Which of vLLM's programs serves: most options are the same to both, some are silently ignored by one."""

from whichbits.study.arm import Arm

_ONE_FRONT_END = "vllm.entrypoints.openai.api_server"
_COMMANDS = "vllm.entrypoints.cli.main"
_FRONT_ENDS = "api_server_count"


def server_program(arm: Arm, model_path: str) -> tuple[str, ...]:
    """Return the words after the interpreter that start a server of a model.

    The API server's module is one process and the lighter program: it is there in every version. It accepts
    ``--api-server-count`` and starts one front end all the same, since only ``vllm serve`` starts several
    (entrypoints/cli/serve.py, 0.25.1).
    """
    if any(option.lstrip("-").replace("-", "_") == _FRONT_ENDS for option in arm.options):
        return ("-m", _COMMANDS, "serve", model_path)
    return ("-m", _ONE_FRONT_END, "--model", model_path)
