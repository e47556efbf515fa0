"""What stands in the tests for what a page's command names: addresses, interpreters, hours."""

import sys
from dataclasses import dataclass

from tests.docs.working_folder import BEGUN, CALIBRATED, MINE, MOCKED

ADDED = {
    "load": ("--set", "warm_up={at_least_requests: 2, at_most_requests: 2}", "--output-tokens", "2", "--plain"),
    "mock": ("--port", "0"),
    "plan": ("--draws", "0", "--workers", "1"),
    "predict": ("--draws", "0"),
    "view": ("--port", "0"),
}
"""Flags that make a verb quick, or let it share the machine; one that the page gives itself is not given again."""

SHORTER = {"--seconds": "0.5", "--requests": "16", "--port": "0", "--rate": "4,8", "--output-tokens": "2"}
"""Numbers in place of those of the page, where it names the flag."""


@dataclass(frozen=True)
class StandIns:
    """Addresses of the servers that stand in for the pages' own."""

    server: str
    collector: str

    def of(self, words: list[str]) -> list[str]:
        """Return a command's words with everything in place that it names."""
        names = self._names()
        names |= {"calibrate": {f"runs/{MINE}": CALIBRATED}, "run": {"runs/2026-...": BEGUN}}.get(words[0], {})
        said = [names.get(word, word) for word in words]
        shorter = [SHORTER.get(before, word) for before, word in zip(["", *said], said, strict=False)]
        return [*shorter, *self._added(words)]

    def _names(self) -> dict[str, str]:
        return {
            "http://localhost:8000": self.server,
            "http://host:8000": self.server,
            "https://api.example.com/v1": f"{self.server}/v1",
            "http://localhost:4318": self.collector,
            "/opt/vllm/bin/python": sys.executable,
            "studies/plan-chat.yaml": "plan-l4.yaml",
            **{f"studies/{name}.yaml": f"{name}.yaml" for name in MOCKED},
            "BASELINE": "before",
            "CANDIDATE...": "after",
            "runs/2026-...": f"runs/{MINE}",
            "runs/2026-11-29T1404-quickstart": f"runs/{MINE}",
        }

    def _added(self, words: list[str]) -> list[str]:
        flags = ADDED.get(words[0], ())
        if words[:2] == ["load", "--self-test"]:
            flags = ("--seconds", "1")
        pairs = [flags[place : place + 2] for place in range(0, len(flags), 2)]
        return [word for pair in pairs if pair[0] not in words for word in pair]
