"""Who may come in: requests that name an expected host, and, where strangers could reach us, carry the token."""

import hmac
import secrets
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

COOKIE = "whichbits_view"
_OURS = frozenset({"localhost", "127.0.0.1", "::1"})
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def door(host: str, token: str | None) -> Middleware:
    """Return the middleware; without a token, only requests that name this machine pass.

    A page elsewhere can make a browser send requests here under a name of its own (DNS rebinding); the Host header
    then betrays it.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if token is None and not _names_us(request.host, host):
            raise web.HTTPForbidden(text="This page is for this machine: open it as http://127.0.0.1.\n")
        if token is not None:
            entering = request.query.get("token")
            if entering is not None and hmac.compare_digest(entering.encode(), token.encode()):
                raise _let_in(request, token)
            if not hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), token.encode()):
                raise web.HTTPForbidden(text="Open the whole address that `whichbits view` printed, with its token.\n")
        response = await handler(request)
        _protect(response)
        return response

    return check


def _names_us(named: str, host: str) -> bool:
    try:
        return (urlsplit(f"//{named}").hostname or "") in _OURS | {host}
    except ValueError:  # such as "[": whoever writes so does not mean us
        return False


def _let_in(request: web.Request, token: str) -> web.HTTPSeeOther:
    """Change the token for a cookie, so that it does not stay in addresses."""
    welcome = web.HTTPSeeOther(request.url.without_query_params("token").path_qs)
    welcome.set_cookie(COOKIE, token, httponly=True, samesite="Strict")
    return welcome


def _protect(response: web.StreamResponse) -> None:
    response.headers.setdefault("Content-Security-Policy", _POLICY)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers.setdefault("Cache-Control", "no-store")
