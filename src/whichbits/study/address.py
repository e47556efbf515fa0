"""Addresses of running servers as a study may hold them: plain, and without anybody's password."""

import re
from urllib.parse import urlsplit

_WITHOUT_SCHEME = re.compile(r"[\w.-]+:\d{1,5}(?:/[\w./-]*)?")
"""A host and its port. Nothing else is quoted: what is pasted into the wrong place may be a secret."""

_CREDENTIALS = re.compile(r"://[^/@\s]*@")


def without_credentials(text: str) -> str:
    """Return ``text`` with the user and password of every address in it starred: errors quote proxies whole."""
    return _CREDENTIALS.sub("://***@", text)


def plain_address(url: str) -> str:
    """Return ``url`` as it is.

    Raises ValueError if it is not a plain http or https address; the message quotes a host, port and path at most.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")  # what a resolver would stumble over: "a..b", or a label of 64 letters
    except ValueError as error:
        message = f"not an address: {error}"
        raise ValueError(message) from None
    if parts.username is not None or parts.password is not None:
        message = "an address with a user or password would be written into every report; use api_key_variable"
        raise ValueError(message)
    if (host := _WITHOUT_SCHEME.fullmatch(url)) is not None:
        message = f"has no scheme: write http://{host[0]}, or https://"
        raise ValueError(message)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        message = "not an address such as http://host:8000 or https://host/prefix"
        raise ValueError(message)
    if parts.query or parts.fragment or any(character.isspace() for character in url):
        message = "an address ends with its path: no ?query, no #fragment, no spaces"
        raise ValueError(message)
    return url
