"""Names as Kubernetes takes them."""

import re

_LONGEST = 63


def dns_name(text: str) -> str:
    """Return ``text`` as a name for any object, a Service included (RFC 1035): a-z, 0-9 and dashes, a letter first."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    named = plain if re.match(r"[a-z]", plain) else f"study-{plain}"
    return named[:_LONGEST].rstrip("-")
