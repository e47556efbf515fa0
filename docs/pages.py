"""Lays out the documentation's pages for the site: README and docs/, with links that hold there, and llms.txt.

``python docs/pages.py FOLDER``. On the site there is no source tree: what a page links to outside the site is named by
its path in the repository instead.
"""

import re
import shutil
import sys
import tomllib
from os.path import relpath
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOVED = {
    "README.md": "index.md",
    "README.ko.md": "index.ko.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}

_LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?!https?:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def sources() -> dict[Path, Path]:
    """Return where each page and picture of the site comes from, by its path on the site."""
    inner = {path.relative_to(ROOT / "docs"): path for path in (ROOT / "docs").rglob("*") if _belongs(path)}
    return {Path(name): ROOT / source for source, name in MOVED.items()} | inner


def relinked(text: str, source: Path, places: dict[Path, Path]) -> str:
    """Return a page with its links as they are on the site.

    ``places`` gives the path on the site of each file that is there.

    Raises:
        FileNotFoundError: a link leads nowhere.
    """

    def link(found: re.Match[str]) -> str:
        target = (source.parent / found["path"]).resolve()
        if not target.exists():
            raise FileNotFoundError(f"{source}: {found['path']}")
        if target in places:
            return f"{found['text']}({relpath(places[target], places[source].parent)}{found['anchor'] or ''})"
        return named(found["text"].strip("![]"), str(target.relative_to(ROOT)))

    return _LINK.sub(link, text)


def named(text: str, path: str) -> str:
    """Return what stands for a link to a file that the site does not have."""
    return f"`{path}`" if text.strip("`") in path else f"{text} (`{path}`)"


def llms(pages: dict[Path, str], nav: list[dict[str, str | list[str]]]) -> str:
    """Return llms.txt: what the project is, and each page of the navigation with its first sentence.

    See https://llmstxt.org.
    """
    opening = re.search(r"^\*\*.*?\n\n", pages[Path("index.md")], re.MULTILINE | re.DOTALL)
    assert opening, "README.md opens with its question in bold"  # noqa: S101 - a page of ours
    lines = ["# whichbits", "", f"> {' '.join(opening[0].split())}"]
    for entry in nav:
        for title, listed in entry.items():
            if isinstance(listed, list):
                lines += ["", f"## {title}", "", *(_listed(Path(name), pages[Path(name)]) for name in listed)]
    return "\n".join(lines) + "\n"


def navigation() -> list[dict[str, str | list[str]]]:
    """Return the site's navigation: a page, or pages, by title."""
    nav: list[dict[str, str | list[str]]] = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    return nav


def _listed(path: Path, text: str) -> str:
    title = re.search(r"^# (.*)$", text, re.MULTILINE)
    prose = [part for part in text.split("\n\n") if re.match(r"[\w*`]", part) and not part.startswith("```")]
    first = re.split(r"(?<=[.?])\s", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(prose[0].split())))[0]
    return f"- [{title[1] if title else path.stem}]({path}): {first.removesuffix(':')}"


def main(folder: Path) -> None:
    """Write the pages into ``folder``, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    found = sources()
    places = {source.resolve(): path for path, source in found.items()}
    pages: dict[Path, str] = {}
    for path, source in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            pages[path] = relinked(source.read_text(encoding="utf-8"), source.resolve(), places)
            (folder / path).write_text(pages[path], encoding="utf-8")
        else:
            shutil.copy(source, folder / path)
    (folder / "llms.txt").write_text(llms(pages, navigation()), encoding="utf-8")


def _belongs(path: Path) -> bool:
    return path.suffix in {".md", ".svg", ".json", ".png", ".css", ".js"}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
