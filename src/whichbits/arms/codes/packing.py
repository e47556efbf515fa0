"""Eight 4-bit codes in one 32-bit word, in the orders that engines read."""

import numpy as np
from numpy.typing import NDArray

from whichbits.arms.recipe import NIBBLES_A_WORD

Nibbles = NDArray[np.uint8]
Words = NDArray[np.uint32]

Order = tuple[int, ...]

IN_ORDER: Order = (0, 1, 2, 3, 4, 5, 6, 7)
AWQ_ORDER: Order = (0, 2, 4, 6, 1, 3, 5, 7)
"""Which of eight codes each nibble holds, from the lowest bits up."""


def pack(codes: Nibbles) -> Words:
    """Pack [rows, 8 n] codes of 0 to 15 into [rows, n] words, the first code in the lowest bits."""
    pairs = np.ascontiguousarray(codes).view("<u2")
    bytes_of_two: NDArray[np.uint8] = ((pairs | (pairs >> 4)) & 0xFF).astype(np.uint8)
    return bytes_of_two.view(np.uint32)


def unpack(words: Words) -> Nibbles:
    """Return the [rows, 8 n] codes of [rows, n] words."""
    pairs = np.ascontiguousarray(words).view(np.uint8).astype(np.uint16)
    return ((pairs | (pairs << 4)) & 0x0F0F).view(np.uint8)


def pack_rows(codes: Nibbles, order: Order = IN_ORDER) -> Words:
    """Pack down the rows: [8 n, columns] codes into [n, columns] words; missing rows at the end are zeros."""
    eights = _in_eights(codes)
    words = np.empty((len(eights), codes.shape[1], 4), np.uint8)
    for byte in range(4):
        words[:, :, byte] = eights[:, order[2 * byte]] | (eights[:, order[2 * byte + 1]] << 4)
    return words.view(np.uint32)[:, :, 0]


def unpack_rows(words: Words, rows: int, order: Order = IN_ORDER) -> Nibbles:
    """Return the [rows, columns] codes that were packed down the rows."""
    codes = np.empty((len(words), NIBBLES_A_WORD, words.shape[1]), np.uint8)
    parts = np.ascontiguousarray(words)[:, :, None].view(np.uint8)
    for nibble, place in enumerate(order):
        codes[:, place] = (parts[:, :, nibble // 2] >> (4 * (nibble % 2))) & 15
    return codes.reshape(-1, words.shape[1])[:rows]


def _in_eights(codes: Nibbles) -> Nibbles:
    missing = -len(codes) % NIBBLES_A_WORD
    whole = np.pad(codes, ((0, missing), (0, 0))) if missing else codes
    return whole.reshape(-1, NIBBLES_A_WORD, codes.shape[1])
