"""Commands and keys within a sentence, as code on a page."""

import re

from markupsafe import Markup, escape

_CODE = re.compile(r"`([^`]+)`")


def coded(text: str) -> Markup:
    """Return text for a page, what stands between backticks as code; all else is escaped."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped here
