"""Interpreters that are made up: this Python with packages of our choice, and a version if it is to be another."""

import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Package:
    version: str
    requires_python: str | None = None
    requires: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def interpreter(folder: Path, packages: Mapping[str, Package], python_version: str | None = None) -> Path:
    """Write a program that runs this Python without its packages and with the given ones; return its path."""
    site = folder / "site"
    site.mkdir(parents=True)
    for name, package in packages.items():
        _install(site, name, package)
    if python_version is not None:
        # platform is asked for the version, so another platform module answers.
        (site / "sitecustomize.py").write_text(
            f"import platform\nplatform.python_version = lambda: {python_version!r}\n"
            f"platform.python_version_tuple = lambda: {tuple(python_version.split('.'))!r}\n"
        )
    program = folder / "python"
    start = "import sys, runpy; import sitecustomize" if python_version else ""
    script = f'#!/bin/sh\nexport PYTHONPATH="{site}"\n'
    if start:
        script += f'[ "$1" = - ] && exec {sys.executable} -S -c "import sitecustomize, sys; exec(sys.stdin.read())"\n'
    program.write_text(script + f'exec {sys.executable} -S "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def _install(site: Path, name: str, package: Package) -> None:
    info = site / f"{name.replace('-', '_')}-{package.version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {package.version}"]
    lines += [] if package.requires_python is None else [f"Requires-Python: {package.requires_python}"]
    lines += [f"Requires-Dist: {need}" for need in package.requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    for path, text in package.files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
