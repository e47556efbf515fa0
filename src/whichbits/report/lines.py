"""Lines that fit a console, by the columns that letters take: a Korean one takes two."""

from collections.abc import Iterator

from rich.cells import cell_len

_LEAST_WIDTH = 20


def lines(text: str, width: int) -> list[str]:
    """Return the text in lines of at most ``width`` columns; a word longer than that, such as a path, stays whole."""
    return [line for paragraph in text.splitlines() for line in _wrapped(paragraph, max(width, _LEAST_WIDTH))] or [""]


def padded(text: str, width: int) -> str:
    """Return the text with blanks behind it, up to ``width`` columns."""
    return text + " " * (width - cell_len(text))


def set_right(text: str, width: int) -> str:
    """Return the text with blanks before it, up to ``width`` columns."""
    return " " * (width - cell_len(text)) + text


def _wrapped(paragraph: str, width: int) -> Iterator[str]:
    line = ""
    for word in paragraph.split():
        longer = f"{line} {word}" if line else word
        if line and cell_len(longer) > width:
            yield line
            line = word
        else:
            line = longer
    if line:
        yield line
