"""Names in the order that people expect: ``demo_2`` before ``demo_10``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGITS = re.compile("([0-9]+)")
# Of a list in a message: a file may hold thousands of names, of any length.
NAMED_AT_MOST = 48
LONGEST_NAME = 60  # characters
LONGEST_LIST = 600


def naturally(names: Iterable[str]) -> list[str]:
    """Sort names with the numbers in them as numbers; equal ones stay in order."""
    return sorted(names, key=_key)


def some_of(names: Iterable[str], at_most: int = NAMED_AT_MOST) -> str:
    """Names for a message, in order: ``"a, b, c and 12 more"``; ``""`` for none."""
    every = naturally(set(names))
    shown: list[str] = []
    room = LONGEST_LIST
    for name in every[:at_most]:
        short = shortened(name)
        room -= len(short) + 2
        if room < 0:
            break
        shown.append(short)
    more = len(every) - len(shown)
    text = ", ".join(shown)
    return f"{text} and {more:,} more" if more else text


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """The name, or its beginning and ``…`` where it is longer than this."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    parts = [
        # Numbers of any length: compared by how many digits they have, then by these.
        (0, len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (1, 0, part)
        for at, part in enumerate(_DIGITS.split(name))
    ]
    return parts, name
