"""Names of arms: anything that can be read, printed and made into a file's name."""

from urllib.parse import quote

_LONGEST = 180
"""Of a name as files have it, where a letter beyond ASCII takes up to twelve; with their endings, 255 is the most."""


def unfit_name(name: str) -> str | None:
    """Return why no arm can have a name, or None if one can."""
    if not name.strip():
        return "an arm needs a name"
    if len(quote(name, safe="")) > _LONGEST:
        return f"arm {name[:20]}... has too long a name: it names files, too"
    return None
