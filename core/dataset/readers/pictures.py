"""Pictures in a dataset: decoded only if they are what the dataset says they are."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import MissingExtraError, one_line

if TYPE_CHECKING:
    from isoscope.core.dataset.readers.arrow import Parquet
    from isoscope.core.recording.tracks import Array

MODES = {1: "L", 3: "RGB", 4: "RGBA"}
MAX_PIXELS = 1 << 26


def decoded(entry: Any, shape: tuple[int, ...], file: Parquet, name: str) -> Array:
    """A picture's pixels, uint8 [height, width, channels].

    Raises
    ------
    ReadError
        If it is of another size or kind, lies elsewhere, or can't be decoded.
    """
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("reading pictures", "data", "Pillow") from None
    content = entry.get("bytes") if isinstance(entry, dict) else None
    if not isinstance(content, bytes):
        raise file.error("a picture that is not in the file itself", name)
    height, width, channels = shape
    if channels not in MODES or height * width > MAX_PIXELS:
        raise file.error(f"pictures of {list(shape)} are not read", name)
    try:
        with Image.open(io.BytesIO(content), formats=("PNG", "JPEG")) as picture:
            if picture.size != (width, height):
                raise file.error(f"a picture of {picture.size}, not {shape}", name)
            pixels = np.asarray(picture.convert(MODES[channels]))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise file.error(f"a picture is damaged ({one_line(error)})", name) from None
    return pixels.reshape(shape)
