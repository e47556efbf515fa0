"""Elements of SVG as text; whatever comes from outside is escaped here and nowhere else."""

import re
from collections.abc import Iterable
from html import escape

from whichbits.report.palette import Sign
from whichbits.report.wording import plain

INK, PAPER = "#4b5563", "#ffffff"
_SIZE = 3.6
_MARGIN = 14.0
_SHEET = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def element(tag: str, *children: str, **attributes: float | str) -> str:
    """Return an element; an attribute's ``_`` is a dash (``text_anchor``), one at its end is dropped (``class_``)."""
    written = "".join(f' {_dashed(name)}="{_value(value)}"' for name, value in attributes.items())
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def words(text: str) -> str:
    """Return text as content of an element."""
    return escape(plain(text))


def label(text: str, x: float, y: float, **attributes: float | str) -> str:
    """Return a line of text."""
    return element("text", words(text), x=x, y=y, **attributes)


def path(points: Iterable[tuple[float, float]], *, closed: bool = False, **attributes: float | str) -> str:
    """Return a line through the points."""
    places = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return element("path", d=f"M{places}{'Z' if closed else ''}", **attributes)


def mark(sign: Sign, x: float, y: float, title: str, *, filled: bool = True) -> str:
    """Return an arm's sign as a point, with a text that shows when pointed at."""
    fill = sign.colour if filled else "var(--paper, #fff)"
    outline: dict[str, float | str] = {"fill": fill, "stroke": sign.colour, "stroke_width": 1.4}
    return element("path", element("title", words(title)), d=_outline(sign.shape, x, y, _SIZE), **outline)


def drawing(width: float, height: float, *content: str, description: str) -> str:
    """Return the whole picture, which scales with its width; ``description`` is what a screen reader says."""
    return element(
        "svg",
        element("style", _STYLE),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=description,
        class_="plot",
    )


def standalone(picture: str, title: str) -> str:
    """Return a drawing for a file of its own: dark ink on white paper, whatever page shows it.

    ``title`` is the vertical axis', which a page says above the drawing; the paper is wider for it.
    """
    head, _, rest = picture.partition("</style>")
    width, height = map(float, _SHEET.findall(head)[0])
    wider = head.replace(f'"0 0 {width:g} {height:g}"', f'"{-_MARGIN:g} 0 {width + _MARGIN:g} {height:g}"')
    paper = element("rect", x=-_MARGIN, width="100%", height="100%", fill=PAPER)
    place = f"translate({7 - _MARGIN:g} {height / 2:g}) rotate(-90)"
    axis = label(title, 0, 4, transform=place, text_anchor="middle", class_="small")
    return f'{wider}</style><g color="{INK}">{paper}{axis}{rest.removesuffix("</svg>")}</g></svg>'


def _outline(shape: str, x: float, y: float, size: float) -> str:
    if shape == "circle":
        return f"M{x - size:.1f} {y:.1f}a{size} {size} 0 1 0 {2 * size} 0a{size} {size} 0 1 0 {-2 * size} 0Z"
    return "M" + " L".join(f"{x + size * dx:.1f} {y + size * dy:.1f}" for dx, dy in _CORNERS[shape]) + "Z"


_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle-up": ((0, -1.2), (1.15, 0.8), (-1.15, 0.8)),
    "triangle-down": ((0, 1.2), (1.15, -0.8), (-1.15, -0.8)),
    "diamond": ((0, -1.3), (1.1, 0), (0, 1.3), (-1.1, 0)),
    "cross": (
        *((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4)),
        *((0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
    ),
}

_STYLE = (
    ".plot text{fill:currentColor;font:12px system-ui,-apple-system,'Segoe UI',Roboto,Arial,"
    "'Apple SD Gothic Neo','Malgun Gothic','Noto Sans KR',sans-serif}"
    ".plot .grid{stroke:currentColor;stroke-opacity:.16}"
    ".plot .rule{stroke:currentColor;stroke-opacity:.75;stroke-dasharray:4 3;fill:none}"
    ".plot .doubt{fill:currentColor;fill-opacity:.09}"
    ".plot .name{font-weight:600}"
    ".plot .small{font-size:11px}"
)


def _dashed(name: str) -> str:
    return name.rstrip("_") if name == "viewBox" else name.rstrip("_").replace("_", "-")


def _value(value: float | str) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(plain(str(value)))
