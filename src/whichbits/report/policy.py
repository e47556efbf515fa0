"""What report.html may do: nothing but run its own script, known by its hash, for the request timeline."""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

SCRIPT = files("whichbits.report").joinpath("templates", "timeline.js").read_text(encoding="utf-8")

POLICY = (
    f"default-src 'none'; script-src 'sha256-{b64encode(sha256(SCRIPT.encode()).digest()).decode()}'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
"""The Content-Security-Policy that the page carries, and that whoever serves it sends along."""
