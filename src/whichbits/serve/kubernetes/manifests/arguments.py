"""The arguments of vLLM's server in a container: what its engine gives it elsewhere, for the version of the image."""

from whichbits.errors import BadInput
from whichbits.serve.engine import Place
from whichbits.serve.secrets import without_secrets
from whichbits.serve.vllm.flags import server_flags
from whichbits.serve.vllm.interpreter import InstalledVllm
from whichbits.study.arm import Arm

PORT = 8000
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the pod's own; the Service leads there


def arguments(arm: Arm, image: str) -> tuple[str, ...]:
    """Return what follows ``python3 -m vllm.entrypoints.openai.api_server``, fit for a container's ``args``.

    Flags are those of the release that the image's tag names; an image that names none is taken for the latest.

    Raises:
        BadInput: an option is a key or a password, which a manifest must not hold, or says again what a setting says.
    """
    _insist_on_no_secret(arm)
    words = {
        "--model": arm.model,
        "--served-model-name": arm.served_model_name or arm.model,
        "--host": _EVERY_ADDRESS,
        "--port": str(PORT),
    }
    flags = server_flags(arm, InstalledVllm("python3", "vllm", _tag(image)), Place(_EVERY_ADDRESS, PORT))
    return tuple(_unexpanded(word) for word in (*(word for pair in words.items() for word in pair), *flags))


def _tag(image: str) -> str:
    """Return the tag; a colon before the last slash belongs to the registry's port."""
    return image.rpartition("/")[2].partition("@")[0].partition(":")[2]


def _unexpanded(word: str) -> str:
    """Keep Kubernetes from reading ``$(NAME)`` as a variable."""
    return word.replace("$(", "$$(")


def _insist_on_no_secret(arm: Arm) -> None:
    words = {name: str(value) for name, value in arm.options.items() if isinstance(value, str)}
    spelt = {name.replace("-", "_"): value for name, value in words.items()}
    for name, shown in without_secrets(spelt).items():
        if shown != spelt[name]:
            raise BadInput(
                "not_deployable",
                f"the option {name} holds a secret",
                why="whoever may read a Deployment reads its arguments, too",
                fix="give it as environment variable, such as VLLM_API_KEY: those become references to a Secret",
            )
