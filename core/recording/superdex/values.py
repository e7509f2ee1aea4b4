"""Values as HDF5 gives them, and as a track may hold them.

A track holds numbers or fixed-length byte strings, never Python objects. What HDF5 can
write besides (strings of variable length, compounds, references) is turned into these
where that loses nothing, and is told otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

# Strings of variable length are stored at the next multiple of this, so that a
# text that changes a little keeps one dtype.
STRING_STEP = 32
MAX_STRING_BYTES = 1 << 16
MAX_MEMBERS = 64


def text(value: Array | None) -> str:
    """A string attribute as text; ``""`` where it is absent or no string."""
    if value is None or value.size != 1:
        return ""
    item = value.reshape(-1)[0]
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return plain_name(item) if isinstance(item, str) else ""


def real_number(value: Array | None) -> float:
    """A real scalar, or NaN where it is absent or no number."""
    if value is None or value.size != 1 or value.dtype.kind not in "fiu":
        return float("nan")
    return float(value.reshape(-1)[0])


def vector3(value: Array | None) -> Array:
    """A float64 vector [3], NaN where it is absent or of another shape."""
    if value is None or value.shape != (3,) or value.dtype.kind not in "fiu":
        return np.full(3, np.nan)
    return value.astype(np.float64)


def flag(value: Array | None) -> bool | None:
    """A scalar that says yes or no, or None where it is absent or no number."""
    if value is None or value.size != 1 or value.dtype.kind not in "biu":
        return None
    return bool(value.reshape(-1)[0])


def handle_of(fields: dict[str, Array], group_name: str = "") -> int | None:
    """The actor's handle, from its attribute or, failing that, its group's name."""
    value = fields.get("handle")
    if value is not None and value.size == 1 and value.dtype.kind in "ui":
        return int(value.reshape(-1)[0])
    return number_of(group_name)


def number_of(name: str) -> int | None:
    """The number that this is the decimal name of, or None; ``"01"`` is no name."""
    if not (name.isascii() and name.isdecimal()) or len(name) > 20:
        return None
    number = int(name)
    return number if str(number) == name else None


def plain_name(name: str | bytes) -> str:
    """A name that can be printed and stored: what is not, is written as an escape."""
    if isinstance(name, str):
        if name.isprintable():
            return name
        name = name.encode("utf-8", "surrogateescape")
    text = name.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


def storable(value: object) -> tuple[dict[str, Array], str]:
    """Turn what h5py returned into arrays that a track may hold.

    Returns
    -------
    parts
        One array under ``""``, or one a member of a compound under ``.member``.
    refused
        What could not be kept, as a message; ``""`` where all was.
    """
    if isinstance(value, h5py.Empty):
        return {}, "has no value (null dataspace)"
    array = np.asarray(value)
    kind = array.dtype.kind
    if kind in "biufcS":
        if array.dtype.metadata is not None:  # an enumeration's names
            array = array.view(np.dtype(array.dtype.str))
        return {"": array}, ""
    if kind == "O" or kind == "U":
        return _from_objects(array)
    if array.dtype.names is not None:
        return _from_compound(array)
    return {}, "is of a kind that is not kept (opaque or reference)"


def _from_objects(array: Array) -> tuple[dict[str, Array], str]:
    items = array.reshape(-1).tolist()
    if all(isinstance(item, (str, bytes)) for item in items):
        raw = [
            item.encode("utf-8", "surrogateescape") if isinstance(item, str) else item
            for item in items
        ]
        longest = max(map(len, raw), default=1)
        if longest > MAX_STRING_BYTES:
            return {}, "is a text too long to keep"
        step = -(-max(longest, 1) // STRING_STEP) * STRING_STEP
        return {"": np.array(raw, f"S{step}").reshape(array.shape)}, ""
    if len(items) == 1 and isinstance(items[0], np.ndarray):
        inner = items[0]
        if inner.dtype.kind in "biufc":
            return {"": inner}, ""
    return {}, "is of a kind that is not kept (references or lists of varying length)"


def _from_compound(array: Array) -> tuple[dict[str, Array], str]:
    parts: dict[str, Array] = {}
    refused = ""
    for member in (array.dtype.names or ())[:MAX_MEMBERS]:
        inner, why = storable(array[member])
        name = plain_name(member)
        parts.update({f".{name}{k}": np.array(v, order="C") for k, v in inner.items()})
        refused = refused or why
    if len(array.dtype.names or ()) > MAX_MEMBERS:
        refused = f"has more than {MAX_MEMBERS} members"
    return parts, refused
