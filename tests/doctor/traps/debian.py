"""A Python that this machine does not have: Debian 13's 3.13, unpacked beside the system and with its own libc."""

import os
import re
import subprocess
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_LIBRARIES = ("bz2-1.0", "c6", "expat1", "ffi8", "gcc-s1", "lzma5", "sqlite3-0", "ssl3t64", "uuid1", "zstd1")
_PACKAGES = (
    *(f"lib{name}" for name in _LIBRARIES),
    *("libpython3.13-minimal", "libpython3.13-stdlib", "python3.13", "python3.13-minimal", "python3-pip-whl", "zlib1g"),
)


def unpacked_python(folder: Path) -> Path:
    """Return the interpreter: 16 MB of packages by apt from a list of its own; nothing of the system changes."""
    root = folder / "root"
    interpreter = root / "usr/bin/python3.13"
    if not interpreter.exists():
        for package in _fetched(folder):
            _run("dpkg", "-x", str(package), str(root))
    return _start_with_its_own_libc(interpreter, root)


def pip_wheel(interpreter: Path) -> Path:
    """Return the pip that Debian packs for its environments."""
    return next((interpreter.parents[1] / "share/python-wheels").glob("pip-*.whl"))


def _fetched(folder: Path) -> list[Path]:
    debs = folder / "debs"
    for place in (debs, folder / "lists/partial", folder / "cache/archives/partial", folder / "parts"):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} trixie main\n")
    (folder / "apt.conf").write_text(
        f'Dir::Etc::SourceList "{folder}/sources.list";\nDir::Etc::SourceParts "{folder}/parts";\n'
        f'Dir::State::Lists "{folder}/lists";\nDir::Cache "{folder}/cache";\nAPT::Sandbox::User "root";\n'
    )
    environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    _run("apt-get", "-qq", "update", environment=environment)
    _run("apt-get", "-qq", "download", *_PACKAGES, environment=environment, where=debs)
    return sorted(debs.glob("*.deb"))


def _start_with_its_own_libc(interpreter: Path, root: Path) -> Path:
    """Write a starter that has the release's own loader load the program: this machine's libc may be older.

    An environment links to the starter, and so ``$0`` says which environment it is.
    """
    libraries = root / "usr/lib/x86_64-linux-gnu"
    loader = f'"{libraries}/ld-linux-x86-64.so.2" --library-path "{libraries}" --argv0 "$0"'
    starter = interpreter.with_name("python3")
    starter.write_text(f'#!/bin/sh\nexec {loader} "{interpreter}" "$@"\n')
    starter.chmod(0o755)
    return starter


def _run(*words: str, environment: dict[str, str] | None = None, where: Path | None = None) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, env=environment, cwd=where, timeout=300)


def refusal_of(said: str) -> str:
    """Return pip's own line about Pythons that a release does not take."""
    found = re.search(r"Ignored the following versions that require a different python version: (.*)", said)
    return "" if found is None else found[1]
