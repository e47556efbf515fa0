"""What may be written down of environments and commands: keys, tokens and passwords are starred."""

import re
from collections.abc import Iterable, Mapping

STARS = "***"

_SECRET = re.compile(r"(KEYS?|TOKEN|SECRETS?|PASSWORDS?|PASSWD|CREDENTIALS?)(_|$)", re.IGNORECASE)
_SECRET_FLAG = re.compile(r"(?P<flag>--?([\w-]*[-_])?(key|token|secret|password))(?P<rest>=.*)?", re.IGNORECASE)
"""Not the plural of token, here as above: --max-num-batched-tokens is no secret."""

_SECRET_IN_SCRIPT = re.compile(r"(--?(?:[\w-]*[-_])?(?:key|token|secret|password)[= ]+)[^\s;&|]+", re.IGNORECASE)
"""A flag in the text that a shell is given."""

_SECRET_VALUE = re.compile(r"://[^/@\s:]*:[^/@\s]+@|\bhf_[A-Za-z0-9]{20,}|\bsk-[\w-]{20,}")
"""A password in an address, as proxies have it, and keys that show by their first letters what they are."""


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` as it may be written down."""
    return {name: STARS if _is_secret(name, value) else value for name, value in environment.items()}


def command_without_secrets(command: Iterable[str]) -> tuple[str, ...]:
    """Return ``command`` as it may be written down: values of secret flags are starred."""
    shown: list[str] = []
    hide_next = False
    for word in command:
        flag = _SECRET_FLAG.fullmatch(word)
        if hide_next and not word.startswith("-"):
            shown.append(STARS)
        elif flag is None:
            shown.append(_SECRET_VALUE.sub(STARS, _SECRET_IN_SCRIPT.sub(rf"\g<1>{STARS}", word)))
        else:
            shown.append(f"{flag['flag']}={STARS}" if flag["rest"] else word)
        hide_next = flag is not None and flag["rest"] is None
    return tuple(shown)


def is_secret_option(name: str, value: object) -> bool:
    """Return whether an engine's option must not be written down."""
    return _SECRET_FLAG.fullmatch(f"--{name.lstrip('-')}") is not None or _SECRET_VALUE.search(str(value)) is not None


def _is_secret(name: str, value: str) -> bool:
    return _SECRET.search(name) is not None or _SECRET_VALUE.search(value) is not None
