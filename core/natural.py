"""Names in the order that people expect: ``demo_2`` before ``demo_10``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGITS = re.compile("([0-9]+)")


def naturally(names: Iterable[str]) -> list[str]:
    """Sort names with the numbers in them as numbers; equal ones stay in order."""
    return sorted(names, key=_key)


def _key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    parts = [
        # Numbers of any length: compared by how many digits they have, then by these.
        (0, len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (1, 0, part)
        for at, part in enumerate(_DIGITS.split(name))
    ]
    return parts, name
