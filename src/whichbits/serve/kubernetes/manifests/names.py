"""Names as Kubernetes takes them."""

import hashlib
import re

_LONGEST = 63
_HASH_DIGITS = 8


def dns_name(text: str) -> str:
    """Return ``text`` as a name for any object, a Service included (RFC 1035): a-z, 0-9 and dashes, a letter first."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    named = plain if re.match(r"[a-z]", plain) else f"study-{plain}"
    return named[:_LONGEST].rstrip("-")


def hashed_name(name: str, *contents: str) -> str:
    """Return ``name`` with a short hash of ``contents``: another name for other contents, still a DNS name."""
    digits = hashlib.sha256("\0".join(contents).encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name[: _LONGEST - _HASH_DIGITS - 1].rstrip('-')}-{digits}"
