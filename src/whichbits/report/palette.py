"""The sign of each arm: a colour, a point shape and its glyph, so that colour never stands alone."""

from dataclasses import dataclass

# Okabe and Ito, "Color Universal Design" (2008), without black and yellow: each vanishes on some paper.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
_SHAPES = (
    ("circle", "\u25cf"),
    ("square", "\u25a0"),
    ("triangle-up", "\u25b2"),
    ("diamond", "\u25c6"),
    ("triangle-down", "\u25bc"),
    ("cross", "\u271a"),
)


@dataclass(frozen=True)
class Sign:
    """How an arm is drawn; ``shape`` is Vega's name, ``glyph`` the same shape as a character."""

    colour: str
    shape: str
    glyph: str


def signs(arms: tuple[str, ...]) -> dict[str, Sign]:
    """Return a sign for each arm, by its place in the study; 42 arms differ in colour or shape."""
    return {
        arm: Sign(_COLOURS[place % len(_COLOURS)], *_SHAPES[place % len(_SHAPES)]) for place, arm in enumerate(arms)
    }
