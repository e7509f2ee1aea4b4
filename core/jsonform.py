"""The written form of everything that a command prints with ``--json``.

A report is a msgspec struct whose first field is its ``schema``. JSON has no numbers
that are not finite, so these are written as the strings ``"nan"``, ``"inf"`` and
``"-inf"``; unknown is null. Reading with ``strict=False`` takes the strings back into
a float field.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

T = TypeVar("T")


def encode(report: msgspec.Struct | dict[str, Any], *, indent: int = 0) -> bytes:
    """Write a report as one JSON object, UTF-8, without a newline at its end.

    Parameters
    ----------
    report
        A struct, or a dictionary that holds some; NumPy scalars and arrays in it are
        written as numbers and lists.
    indent
        Spaces a level; 0 (the default) puts all of it on one line.
    """
    plain = _finite(msgspec.to_builtins(report, enc_hook=_plain))
    content = msgspec.json.encode(plain)
    return msgspec.json.format(content, indent=indent) if indent else content


def decode(content: bytes, kind: type[T]) -> T:
    """Read back what `encode` wrote.

    Raises
    ------
    msgspec.ValidationError
        If it is not of this kind.
    """
    return msgspec.json.decode(content, type=kind, strict=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no written form")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
