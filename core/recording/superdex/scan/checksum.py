"""Bob Jenkins' lookup3 hash, which HDF5 uses as metadata checksum and as name hash.

Source: Bob Jenkins, lookup3.c (May 2006), public domain; HDF5 starts it from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

_START = 0xDEADBEEF
_ALL = 0xFFFFFFFF


def lookup3(data: bytes) -> int:
    """The hash of these bytes, as u32."""
    a = b = c = (_START + len(data)) & _ALL
    if not data:
        return c
    padded = data + bytes(-len(data) % 12)
    words: list[int] = np.frombuffer(padded, "<u4").tolist()
    last = len(words) - 3
    for at in range(0, last, 3):
        a = (a + words[at]) & _ALL
        b = (b + words[at + 1]) & _ALL
        c = (c + words[at + 2]) & _ALL
        a = ((a - c) & _ALL) ^ _turn(c, 4)
        c = (c + b) & _ALL
        b = ((b - a) & _ALL) ^ _turn(a, 6)
        a = (a + c) & _ALL
        c = ((c - b) & _ALL) ^ _turn(b, 8)
        b = (b + a) & _ALL
        a = ((a - c) & _ALL) ^ _turn(c, 16)
        c = (c + b) & _ALL
        b = ((b - a) & _ALL) ^ _turn(a, 19)
        a = (a + c) & _ALL
        c = ((c - b) & _ALL) ^ _turn(b, 4)
        b = (b + a) & _ALL
    a = (a + words[last]) & _ALL
    b = (b + words[last + 1]) & _ALL
    c = (c + words[last + 2]) & _ALL
    c = ((c ^ b) - _turn(b, 14)) & _ALL
    a = ((a ^ c) - _turn(c, 11)) & _ALL
    b = ((b ^ a) - _turn(a, 25)) & _ALL
    c = ((c ^ b) - _turn(b, 16)) & _ALL
    a = ((a ^ c) - _turn(c, 4)) & _ALL
    b = ((b ^ a) - _turn(a, 14)) & _ALL
    return ((c ^ b) - _turn(b, 24)) & _ALL


def _turn(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _ALL


def lookup3_rows(rows: Array, length: int) -> Array:
    """The hash of every row at once.

    Parameters
    ----------
    rows
        uint8 [n, m] with m >= length.
    length
        Bytes of each row to hash; at least 1.

    Returns
    -------
    uint32 [n].
    """
    count = len(rows)
    padded = np.zeros((count, length + -length % 12), np.uint8)
    padded[:, :length] = rows[:, :length]
    words = np.ascontiguousarray(padded.view("<u4").T)  # [word, row]
    a = np.full(count, (_START + length) & _ALL, np.uint32)
    b, c = a.copy(), a.copy()
    left, right = np.empty_like(a), np.empty_like(a)

    def turned(word: Array, bits: int) -> Array:
        np.left_shift(word, bits, out=left)
        np.right_shift(word, 32 - bits, out=right)
        return np.bitwise_or(left, right, out=left)

    last = len(words) - 3
    for at in range(0, len(words), 3):
        a += words[at]
        b += words[at + 1]
        c += words[at + 2]
        if at == last:
            break
        for bits, (x, y, z) in zip(
            (4, 6, 8, 16, 19, 4),
            ((a, b, c), (b, c, a), (c, a, b)) * 2,
            strict=True,
        ):
            x -= z
            x ^= turned(z, bits)
            z += y
    for bits, x, y in (
        (14, c, b),
        (11, a, c),
        (25, b, a),
        (16, c, b),
        (4, a, c),
        (14, b, a),
        (24, c, b),
    ):
        x ^= y
        x -= turned(y, bits)
    return c
