"""A cluster's double that the real kubectl talks to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.kubernetes.cluster import Cluster, running_cluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with running_cluster(tmp_path, monkeypatch) as running:
        yield running
