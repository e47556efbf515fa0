"""An arm's folder: room for it, its small files, and its name only when it is whole."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from whichbits.errors import BadInput

_LARGEST_EXTRA = 64 * 2**20
_NOT_COPIED = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".msgpack", ".index.json")
_WRITTEN_HERE = ("config.json", "whichbits-arm.json", "quantize_config.json", "quant_config.json")


def insist_on_free(folder: Path, needed: int) -> None:
    """Refuse if ``folder``, or the nearest parent that exists, has less than ``needed`` bytes free."""
    existing = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise BadInput(
            "arm_no_room",
            f"the arms need {needed / 1e9:.1f} GB, and {existing} has {free / 1e9:.1f} GB free",
            why="each arm is a checkpoint of its own",
            fix="name a folder on another disk with --output, or ask for fewer formats",
        )


def insist_on_absent(folder: Path) -> None:
    """Refuse to write over anything.

    Raises:
        BadInput: ``arm_exists``.
    """
    if folder.exists():
        raise BadInput(
            "arm_exists",
            f"{folder} is there already",
            why="it may be what another study serves, so that it is not written over",
            fix="remove it, or name another folder with --output",
        )


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """Yield a folder to fill, which takes ``target``'s name if the block ends well and is removed otherwise."""
    insist_on_absent(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.unfinished-"))
    try:
        yield unfinished
        unfinished.chmod(0o755)  # mkdtemp's own is for its maker alone
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def copy_extras(source: Path, folder: Path) -> None:
    """Copy the tokenizer and other small files; weights in other forms stay behind."""
    for file in sorted(source.iterdir()):
        wanted = file.is_file() and not file.name.endswith(_NOT_COPIED) and file.name not in _WRITTEN_HERE
        if wanted and not file.name.startswith(".") and file.stat().st_size <= _LARGEST_EXTRA:
            shutil.copyfile(file, folder / file.name)


def copy_missing(source: Path, folder: Path) -> None:
    """Copy the small files that ``folder`` does not have yet."""
    with tempfile.TemporaryDirectory(dir=folder) as staged:
        copy_extras(source, Path(staged))
        for file in Path(staged).iterdir():
            if not (folder / file.name).exists():
                file.rename(folder / file.name)


def json_text(content: Mapping[str, Any]) -> str:
    """Return JSON as people read it."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"
