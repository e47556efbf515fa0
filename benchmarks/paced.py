"""The paced server of the client benchmarks: a mock in a process of its own, and what it knows of every token."""

import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from whichbits.serve.mock.fleet import mocks
from whichbits.serve.mock.settings import MODEL, MockSettings
from whichbits.serve.mock.truth import TrueRequest, read_truth

_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Paced:
    """A running mock. ``truth`` goes by the first token id of the prompt."""

    url: str
    model: str = MODEL

    def forget(self) -> None:
        """Empty the truth, between two cells."""
        self._ask("DELETE")

    def truth(self) -> Mapping[int, TrueRequest]:
        return {request.prompt_head[0]: request for request in read_truth(self._ask("GET")).requests}

    def cpu_s(self) -> float:
        """Return what the mock's process has used since its start."""
        return read_truth(self._ask("GET")).cpu_ns / 1e9

    def _ask(self, method: str) -> bytes:
        request = urllib.request.Request(f"{self.url}/truth", method=method)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            page: bytes = answer.read()
            return page


@contextmanager
def paced(settings: MockSettings) -> Iterator[Paced]:
    """Run a mock while this lasts."""
    with mocks([0], settings) as (url,):
        yield Paced(url)
