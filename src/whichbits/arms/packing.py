"""Eight 4-bit codes in one 32-bit word, in the orders that engines read."""

import numpy as np
from numpy.typing import NDArray

from whichbits.arms.recipe import NIBBLES_A_WORD

Nibbles = NDArray[np.uint8]
Words = NDArray[np.uint32]

_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
_AWQ_PLACES = tuple(int(place) for place in np.argsort(_AWQ_ORDER))


def pack(codes: Nibbles) -> Words:
    """Pack [rows, 8 n] codes of 0 to 15 into [rows, n] words, the first code in the lowest bits."""
    pairs = np.ascontiguousarray(codes).view("<u2")
    return ((pairs | (pairs >> 4)) & 0xFF).astype(np.uint8).view("<u4")


def unpack(words: Words) -> Nibbles:
    """Return the [rows, 8 n] codes of [rows, n] words."""
    pairs = np.ascontiguousarray(words).view(np.uint8).astype(np.uint16)
    return ((pairs | (pairs << 4)) & 0x0F0F).view(np.uint8)


def pack_rows(codes: Nibbles) -> Words:
    """Pack down the rows: [8 n, columns] codes into [n, columns] words; missing rows at the end are zeros."""
    missing = -len(codes) % NIBBLES_A_WORD
    return pack(np.pad(codes, ((0, missing), (0, 0))).T).T


def unpack_rows(words: Words, rows: int) -> Nibbles:
    """Return the [rows, columns] codes that were packed down the rows."""
    return unpack(words.T).T[:rows]


def pack_awq(codes: Nibbles) -> Words:
    """Pack [rows, 8 n] codes in AWQ's order: the words' nibbles hold codes 0, 2, 4, 6, 1, 3, 5, 7."""
    return pack(_reordered(codes, _AWQ_ORDER))


def unpack_awq(words: Words) -> Nibbles:
    """Return the codes of words in AWQ's order."""
    return _reordered(unpack(words), _AWQ_PLACES)


def _reordered(codes: Nibbles, order: tuple[int, ...]) -> Nibbles:
    rows, columns = codes.shape
    return codes.reshape(rows, -1, NIBBLES_A_WORD)[:, :, list(order)].reshape(rows, columns)
