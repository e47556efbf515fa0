"""A catalogue of phrases in the PO format of gettext, of which this reads texts and leaves comments to translators."""

import json
import re

_ENTRY = re.compile(r'^msgid((?:\s*"(?:[^"\\]|\\.)*")+)\s*^msgstr((?:\s*"(?:[^"\\]|\\.)*")+)', re.MULTILINE)
_PART = re.compile(r'"(?:[^"\\]|\\.)*"')


def parse(text: str) -> dict[str, str]:
    """Return the translation of each template; those without one, and the header, are left out."""
    entries = ((_joined(found[1]), _joined(found[2])) for found in _ENTRY.finditer(text))
    return {template: translated for template, translated in entries if template and translated}


def _joined(parts: str) -> str:
    """Join the strings of an entry, whose escapes are those of JSON."""
    return "".join(json.loads(part) for part in _PART.findall(parts))
