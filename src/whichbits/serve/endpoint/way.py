"""The way to a server that runs already: whose certificates are trusted, and through which proxy."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from whichbits.errors import BadInput
from whichbits.record.schema import Fact
from whichbits.study.arm import ServersThatRun

if TYPE_CHECKING:
    from aiohttp import ClientSession


@dataclass(frozen=True)
class Way:
    """How a server is reached. Certificates are always checked: by the system's authorities, or by ``ca_file``'s."""

    ca_file: str | None = None
    proxy: str | None = field(default=None, repr=False)

    def session(self, **settings: Any) -> "ClientSession":
        """Return an aiohttp session that goes this way."""
        from aiohttp import ClientSession, TCPConnector

        trust = True if self.ca_file is None else ssl.create_default_context(cafile=self.ca_file)
        return ClientSession(connector=TCPConnector(ssl=trust), proxy=self.proxy, **settings)


DIRECT = Way()


def way_to(url: str, target: ServersThatRun) -> Way:
    """Return the way to ``url``. Proxies of the environment are taken only if the target says so."""
    proxy = target.proxy
    if proxy is None and target.use_environment_proxy and (found := _environment_proxy(url)) is not None:
        proxy = found[1]
    return Way(target.ca_file, proxy)


def way_facts(url: str, target: ServersThatRun) -> Mapping[str, Fact]:
    """Return what a record should tell of the way: never the proxy of the environment itself, which may hold a key."""
    found = _environment_proxy(url)
    if target.proxy is not None:
        return {"client_transport": Fact("aiohttp", "target.proxy")}
    if found is None:
        return {}
    if target.use_environment_proxy:
        return {"client_transport": Fact("aiohttp", found[0])}
    return {"environment_proxy": Fact("not used", found[0])}


def insist_on_authorities(target: ServersThatRun) -> None:
    """Raise BadInput if the target's ``ca_file`` holds no certificate that can be trusted."""
    if target.ca_file is None:
        return
    try:
        ssl.create_default_context(cafile=target.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(
            "ca_file_unusable",
            f"{target.ca_file} holds no certificates: {error.strerror or error}",
            why="the arm's target names it as the authorities to trust",
            fix="name a file in PEM form, with BEGIN CERTIFICATE lines",
        ) from error


def _environment_proxy(url: str) -> tuple[str, str] | None:
    """Return the variable that names a proxy for ``url``, and the proxy."""
    parts = urlsplit(url)
    proxies = getproxies_environment()
    if proxy_bypass(parts.netloc):
        return None
    scheme = parts.scheme if parts.scheme in proxies else "all"
    return (f"{scheme.upper()}_PROXY", proxies[scheme]) if scheme in proxies else None
