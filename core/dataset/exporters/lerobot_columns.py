"""Columns of a LeRobot dataset: Arrow types, values, and how they are described."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from isoscope.core.dataset.exporters.plan import Plan
    from isoscope.core.dataset.model import Feature
    from isoscope.core.recording.tracks import Array


def arrow_type(feature: Feature) -> pa.DataType:
    """The column's type: a number, a list of fixed length, or lists in lists."""
    if feature.role == "image":
        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    kind = pa.from_numpy_dtype(feature.dtype)
    shape = feature.shape
    if int(np.prod(shape, dtype=np.int64)) == 1 and len(shape) < 2:
        return kind
    if len(shape) == 1:
        return pa.list_(kind, shape[0])
    for _ in shape:
        kind = pa.list_(kind)
    return kind


def arrow_array(values: Array, kind: pa.DataType) -> pa.Array:
    """Rows [n, *shape] as a column of this type."""
    flat = np.ascontiguousarray(values).reshape(-1)
    made = pa.array(flat)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(made, type=kind)
    if not pa.types.is_list(kind):
        return made
    for axis in range(values.ndim - 1, 0, -1):
        count = math.prod(values.shape[:axis])
        offsets = np.arange(count + 1, dtype=np.int32) * values.shape[axis]
        made = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), made)
    return made


def column_of(feature: Feature, values: Array, kind: pa.DataType) -> pa.Array:
    """Rows [n, *shape] as a column; pictures as PNG."""
    if feature.role != "image":
        return arrow_array(values, kind)
    from PIL import Image

    entries = []
    for pixels in values:
        out = io.BytesIO()
        squeezed = pixels[:, :, 0] if feature.shape[2] == 1 else pixels
        Image.fromarray(squeezed).save(out, "PNG", compress_level=1)
        entries.append({"bytes": out.getvalue(), "path": None})
    return pa.array(entries, kind)


def pictures_of(plan: Plan) -> set[str]:
    """Names of the columns that are pictures."""
    return {c.feature.name for c in plan.columns if c.feature.role == "image"}


def stat_width(feature: Feature) -> int:
    """Numbers that a statistic of a feature has: components, a picture's channels."""
    if feature.role == "image":
        return feature.shape[2]
    return int(np.prod(feature.shape, dtype=np.int64))


def flat_rows(feature: Feature, values: Array) -> Array:
    """Rows [n, width] that statistics are of.

    Of a picture, the channels of one pixel, as fractions: over the rows, each at
    another place, they are a sample of all pixels.
    """
    if feature.role != "image":
        return values.reshape(len(values), -1)
    pixels = values.reshape(len(values), -1, feature.shape[2])
    at = np.arange(len(values)) * 7919 % max(pixels.shape[1], 1)
    return pixels[np.arange(len(values)), at] / np.float64(255)


def lists(values: Array) -> pa.Array:
    """Rows [n, ...] as lists, in lists."""
    kind = pa.from_numpy_dtype(values.dtype)
    for _ in values.shape[1:]:
        kind = pa.list_(kind)
    return arrow_array(values, kind)


def told_of(feature: Feature) -> dict[str, Any]:
    """A feature as info.json has it."""
    if feature.role == "image":
        axes = ["height", "width", "channels"]
        return {"dtype": "image", "shape": list(feature.shape), "names": axes}
    names = list(feature.names) if len(feature.shape) < 2 else None
    shape = list(feature.shape) or [1]
    return {"dtype": feature.dtype.name, "shape": shape, "names": names or None}


def hugging(plan: Plan, kinds: dict[str, pa.DataType]) -> dict[str, Any]:
    """The features as the library datasets has them."""
    out: dict[str, Any] = {}
    features = {c.feature.name: c.feature for c in plan.columns}
    for key, kind in kinds.items():
        feature = features.get(key)
        word = feature.dtype.name if feature is not None else str(kind)
        word = "float32" if word == "float" else word
        value = {"dtype": word, "_type": "Value"}
        if feature is not None and feature.role == "image":
            out[key] = {"_type": "Image"}
        elif pa.types.is_fixed_size_list(kind):
            out[key] = {"feature": value, "length": kind.list_size, "_type": "List"}
        elif pa.types.is_list(kind):
            assert feature is not None
            axes = len(feature.shape)
            shape = list(feature.shape)
            out[key] = {"shape": shape, "dtype": word, "_type": f"Array{axes}D"}
        else:
            out[key] = value
    return out
