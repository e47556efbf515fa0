"""Addresses of running servers as a study may hold them: plain, and without anybody's password."""

from urllib.parse import urlsplit


def plain_address(url: str) -> str:
    """Return ``url`` as it is. Raises ValueError, without quoting it, if it is not a plain http or https address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        message = f"not an address: {error}"
        raise ValueError(message) from None
    if parts.username is not None or parts.password is not None:
        message = "an address with a user or password would be written into every report; use api_key_variable"
        raise ValueError(message)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        message = "not an address such as http://host:8000 or https://host/prefix"
        raise ValueError(message)
    if parts.query or parts.fragment or any(character.isspace() for character in url):
        message = "an address ends with its path: no ?query, no #fragment, no spaces"
        raise ValueError(message)
    return url
