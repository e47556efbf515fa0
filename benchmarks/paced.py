"""The paced server of the client benchmarks: a mock in a process of its own, and what it knows of every token."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlsplit

from whichbits.serve.mock.engine.truth import TrueRequest, read_truth
from whichbits.serve.mock.fleet import mocks
from whichbits.serve.mock.settings import MODEL, MockSettings

_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Paced:
    """A running mock. ``truth`` goes by the first token id of the prompt."""

    url: str
    model: str = MODEL

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def forget(self) -> None:
        """Empty the truth, between two cells."""
        self._ask("DELETE")

    def truth(self) -> Mapping[int, TrueRequest]:
        return {request.prompt_head[0]: request for request in read_truth(self._ask("GET")).requests}

    def _ask(self, method: str) -> bytes:
        with closing(HTTPConnection(self.host, self.port, timeout=_TIMEOUT_SECONDS)) as connection:
            connection.request(method, "/truth")
            return connection.getresponse().read()


@contextmanager
def paced(settings: MockSettings) -> Iterator[Paced]:
    """Run a mock while this lasts."""
    with mocks([0], settings) as (url,):
        yield Paced(url)
