"""A container's variables: settings as they are, secrets as references to one Secret."""

from typing import Any

from whichbits.serve.secrets import without_secrets
from whichbits.study.arm import Arm

SECRET = "whichbits"  # noqa: S105 - the name of the Secret; its keys are the variables' names
_STARS = "***"
_HUB_TOKEN = "HF_TOKEN"  # noqa: S105
_SERVER_KEY = "VLLM_API_KEY"
_ALWAYS = {"VLLM_NO_USAGE_STATS": "1", "NO_COLOR": "1"}
_RESETS = {"VLLM_SERVER_DEV_MODE": "1"}
"""Without it vLLM has no /reset_prefix_cache; with it, it obeys whoever reaches its port."""


def server_environment(arm: Arm, *, resets: bool) -> list[dict[str, Any]]:
    """Return ``env`` of an arm's container; ``resets``: the study empties caches by asking the server."""
    shown = without_secrets(_ALWAYS | (_RESETS if resets else {}) | arm.environment)
    plain = [{"name": name, "value": value} for name, value in shown.items() if value != _STARS]
    secret = [from_secret(name) for name in secret_names(arm)]
    key = arm.target.api_key_variable if arm.target else None
    server_key = [] if key is None else [from_secret(key, name=_SERVER_KEY)]
    hub = [] if _HUB_TOKEN in shown else [from_secret(_HUB_TOKEN, optional=True)]
    return [*plain, *secret, *server_key, *hub]


def secret_names(arm: Arm) -> tuple[str, ...]:
    """Return which of the arm's variables are secrets."""
    return tuple(name for name, value in without_secrets(arm.environment).items() if value == _STARS)


def from_secret(key: str, *, name: str | None = None, optional: bool = False) -> dict[str, Any]:
    """Return a variable whose value stands in the Secret; an ``optional`` one may be absent there."""
    reference = {"name": SECRET, "key": key} | ({"optional": True} if optional else {})
    return {"name": name or key, "valueFrom": {"secretKeyRef": reference}}
