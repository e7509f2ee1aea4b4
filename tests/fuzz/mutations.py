"""Damage files at random: what disks, networks, crashes and editors do to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

# Signatures of HDF5's structures: damage near them is worth more than in values.
_SIGNATURE = re.compile(
    rb"\x89HDF|OHDR|OCHK|TREE|SNOD|HEAP|GCOL|BTHD|BTIN|BTLF|FRHP|FHDB|FHIB|FADB|EADB"
)
_LENGTHS = (1, 2, 4, 8, 64, 512, 4096)


def _place(content: bytes, chance: random.Random) -> int:
    """A byte to damage: anywhere, near the front, or near a structure's beginning."""
    size = len(content)
    kind = chance.random()
    if kind < 0.2:
        return chance.randrange(min(size, 2048))
    if kind < 0.5:
        found = [match.start() for match in _SIGNATURE.finditer(content)]
        if found:
            return min(chance.choice(found) + chance.randrange(64), size - 1)
    return chance.randrange(size)


def cut(content: bytes, chance: random.Random) -> bytes:
    """Lose the end."""
    return content[: chance.randrange(len(content))]


def flip(content: bytes, chance: random.Random) -> bytes:
    """Change some bytes."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 1, 2, 5, 20))):
        at = _place(content, chance)
        damaged[at] = chance.choice(
            (0, 255, damaged[at] ^ (1 << chance.randrange(8)), chance.randrange(256))
        )
    return bytes(damaged)


def zero(content: bytes, chance: random.Random) -> bytes:
    """Lose a range, as a disk's hole does."""
    at, length = _place(content, chance), chance.choice(_LENGTHS)
    return content[:at] + bytes(len(content[at : at + length])) + content[at + length :]


def swap(content: bytes, chance: random.Random) -> bytes:
    """Exchange two ranges."""
    length = chance.choice(_LENGTHS)
    low, high = sorted((_place(content, chance), _place(content, chance)))
    length = min(length, high - low, len(content) - high)
    one, other = content[low : low + length], content[high : high + length]
    damaged = bytearray(content)
    damaged[low : low + length], damaged[high : high + length] = other, one
    return bytes(damaged)


def double(content: bytes, chance: random.Random) -> bytes:
    """Write a range over another."""
    length = chance.choice(_LENGTHS)
    source, target = _place(content, chance), _place(content, chance)
    piece = content[source : source + length][: len(content) - target]
    return content[:target] + piece + content[target + len(piece) :]


def number(content: bytes, chance: random.Random) -> bytes:
    """Replace an address or a length by an extreme or a misleading one."""
    width = chance.choice((2, 4, 8))
    at = min(_place(content, chance), max(len(content) - width, 0))
    value = chance.choice(
        (
            0,
            1,
            (1 << (8 * width)) - 1,
            1 << (8 * width - 1),
            1 << (8 * width - 2),
            len(content),
            chance.randrange(len(content)),
        )
    )
    piece = (value & ((1 << (8 * width)) - 1)).to_bytes(width, "little")
    return content[:at] + piece + content[at + width :]


def insert(content: bytes, chance: random.Random) -> bytes:
    """Shift the rest by some bytes, as a text conversion does."""
    at = _place(content, chance)
    return content[:at] + bytes(chance.choice((1, 8))) + content[at:]


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    cut,
    flip,
    flip,
    flip,
    zero,
    swap,
    double,
    number,
    number,
    insert,
)


def mutate(content: bytes, chance: random.Random) -> tuple[bytes, str]:
    """Damage the content once; returns it and the name of what was done."""
    mutation = chance.choice(MUTATIONS)
    return mutation(content, chance), mutation.__name__
