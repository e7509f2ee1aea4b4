"""Values as text: compact for a row, whole for a strip, exact for the clipboard; no Qt.

Numbers of an array are right-aligned in slots, so that the columns of neighbouring rows
line up: float32 with 7 significant digits, float64 with 10, which is what each can be
trusted for; what is copied is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

ABSENT = "absent"
INLINE_VALUES = 4  # values of an array that a row shows at most
MOST_COPIED = 1_000_000
_DIGITS = {2: 4, 4: 7, 8: 10}
_SLOTS = {2: 10, 4: 11, 8: 15}


def type_text(dtype: np.dtype[Any], shape: tuple[int, ...]) -> str:
    """The dtype in numpy's short form and the shape: ``f4 (3,)``, ``u8``, ``S5``."""
    short = dtype.str.lstrip("<>|=")
    if shape == ():
        return short
    if shape == (-1,):
        return f"{short} (n)"
    return f"{short} ({','.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def number_text(value: Any, dtype: np.dtype[Any]) -> str:
    """One number or piece of text."""
    if dtype.kind == "f":
        return f"{float(value):.{_DIGITS.get(dtype.itemsize, 10)}g}"
    if dtype.kind in "SO" and isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def slot_of(dtype: np.dtype[Any]) -> int:
    """Characters that a number of this dtype is given."""
    if dtype.kind == "f":
        return _SLOTS.get(dtype.itemsize, 15)
    return 11 if dtype.kind in "iub" else 0


def inline_text(value: Array, room: int | None = None) -> str:
    """A value in one line: the first few numbers, an ellipsis if there are more.

    `room` is how many characters there are: what doesn't fit in slots is set closer,
    and what doesn't fit then is left out.
    """
    if value.size == 0:
        return f"empty {type_text(value.dtype, value.shape)}"
    slot = slot_of(value.dtype)
    first = value.reshape(-1)[:INLINE_VALUES]
    parts = [number_text(v, value.dtype) for v in first]
    more = f" … {value.size} values" if value.size > INLINE_VALUES else ""
    text = " ".join(f"{part:>{slot}}" for part in parts) + more
    if room is None or len(text) <= room or len(parts) == 1:
        return text
    text = "  ".join(parts)
    if len(text) <= room and not more:
        return text
    while len(parts) > 1 and len(text) + 2 > room:
        parts.pop()
        text = "  ".join(parts)
    return f"{text} …"


def whole_lines(value: Array, most: int, each: int = 0) -> list[str]:
    """A value over at most `most` lines: one for each run along the last axis.

    A flat value is cut into runs of `each`; 0 chooses.
    """
    if value.size == 0:
        return [inline_text(value)]
    if value.ndim < 2:
        if each < 2:
            each = 6 if value.dtype.kind in "fiub" else 1
        flat = value.reshape(-1)
        rows = [flat[i : i + each] for i in range(0, len(flat), each)][: most + 1]
    else:
        table = value.reshape(-1, value.shape[-1])
        rows = list(table[: most + 1])
    slot = slot_of(value.dtype)
    if value.size == 1:
        slot = 0
    lines = [
        " ".join(f"{number_text(v, value.dtype):>{slot}}" for v in row[:32])
        + (" …" if len(row) > 32 else "")
        for row in rows
    ]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"… {value.size} values in all"]
    return lines


def exact_text(value: Array) -> str:
    """Every number with as many digits as tell it from its neighbours, as a list."""
    if value.dtype.kind in "SOU":
        items = [number_text(v, value.dtype) for v in value.reshape(-1)]
        return items[0] if value.shape == () else repr(items)
    if value.shape == ():
        return str(value[()])
    text = np.array2string(
        value,
        separator=", ",
        threshold=MOST_COPIED,
        floatmode="unique",
        max_line_width=100,
    )
    return str(text)
