"""Stand-ins for an interpreter with vLLM: this one, with a distribution's metadata beside it."""

from pathlib import Path


def with_vllm(folder: Path, distribution: str, version: str) -> dict[str, str]:
    """Return an environment in which our own interpreter has ``distribution``."""
    metadata = folder / f"{distribution}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    return {"PYTHONPATH": str(folder)}
