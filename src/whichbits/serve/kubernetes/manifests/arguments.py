"""The arguments of vLLM's server in a container: an arm's settings and options in vLLM's spelling."""

from whichbits.errors import BadInput
from whichbits.serve.launched import without_secrets
from whichbits.study.arm import Arm

PORT = 8000

_NO_FLAG_WHEN_FALSE = frozenset({"enforce_eager"})
"""Off by default in every version, and ``--no-...`` is not known to all."""


def arguments(arm: Arm) -> tuple[str, ...]:
    """Return what follows ``python3 -m vllm.entrypoints.openai.api_server``, fit for a container's ``args``.

    An option that spells a setting's name takes its place.

    Raises:
        BadInput: an option is a key or a password, which a manifest must not hold.
    """
    fixed = (f"--model={arm.model}", f"--served-model-name={served_name(arm)}", "--host=0.0.0.0", f"--port={PORT}")
    given = {name: value for name, value in arm.settings().items() if value or name not in _NO_FLAG_WHEN_FALSE}
    flags = [_flag(name, value) for name, value in (given | _harmless(arm.options)).items()]
    return tuple(_unexpanded(word) for word in (*fixed, *flags))


def served_name(arm: Arm) -> str:
    """Return the model name that requests carry."""
    return arm.served_model_name or arm.model


def _flag(name: str, value: str | float | bool) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag}={value}"


def _unexpanded(word: str) -> str:
    """Keep Kubernetes from reading ``$(NAME)`` as a variable."""
    return word.replace("$(", "$$(")


def _harmless(options: dict[str, str | int | float | bool]) -> dict[str, str | int | float | bool]:
    """Return the options with underscores in their names, as settings have them."""
    spelt = {name.lstrip("-").replace("-", "_"): value for name, value in options.items()}
    words = {name: value for name, value in spelt.items() if isinstance(value, str)}
    for name, shown in without_secrets(words).items():
        if shown != words[name]:
            raise BadInput(
                "not_deployable",
                f"the option {name} holds a secret",
                why="whoever may read a Deployment reads its arguments, too",
                fix="give it as environment variable, such as VLLM_API_KEY: those become references to a Secret",
            )
    return spelt
