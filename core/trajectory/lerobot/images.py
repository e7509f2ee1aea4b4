"""Camera pictures for frames: uint8, height x width x channels, one key a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.trajectory.errors import TrajectoryTypeError, TrajectoryValueError
from isoscope.core.trajectory.lerobot.options import Images
from isoscope.core.trajectory.lerobot.values import NUMBERS, to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The frame's key, the names of it in observations, whether there may be several views.
CAMERAS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("image", ("main_images", "image", "full_image"), False),
    ("wrist_image", ("wrist_images", "wrist_image"), True),
    ("extra_view_image", ("extra_view_images", "extra_view_image"), True),
)


def images_of(observation: dict[str, Any], how: Images) -> dict[str, NDArray[np.uint8]]:
    """Collect the pictures of one environment's observation.

    A wrist or extra camera with V > 1 views ``[V, H, W, C]`` gives ``key-0`` to
    ``key-(V-1)``, with one view ``key``. The first of a camera's names that is there
    counts, even if its value is None.

    Raises
    ------
    TrajectoryValueError
        If a picture is empty, or can't be recorded as `how` says.
    """
    found: dict[str, NDArray[np.uint8]] = {}
    for key, names, several in CAMERAS:
        name = next((name for name in names if name in observation), None)
        if name is None or observation[name] is None:
            continue
        picture = to_numpy(observation[name])
        if not several or picture.ndim != 4:
            found[key] = as_uint8(picture, name, how)
        elif len(picture) == 1:
            found[key] = as_uint8(picture[0], name, how)
        else:
            for view, each in enumerate(picture):
                found[f"{key}-{view}"] = as_uint8(each, name, how)
    return found


def as_uint8(picture: NDArray[Any], name: str, how: Images) -> NDArray[np.uint8]:
    """Give a picture of its own memory as uint8; see :class:`Images`."""
    if picture.size == 0:
        raise TrajectoryValueError(
            f"recording a frame: {name} is empty, {list(picture.shape)}; "
            "give a picture, or leave the key out"
        )
    if picture.dtype.kind not in NUMBERS:
        raise TrajectoryTypeError(
            f"recording a frame: {name} is {picture.dtype}; a picture is numbers, "
            "uint8 best"
        )
    if how is Images.UINT8 and (picture.dtype != np.uint8 or picture.ndim != 3):
        raise TrajectoryValueError(
            f"recording a frame: {name} is {picture.dtype} {list(picture.shape)}; "
            "pictures are uint8, height x width x channels, for each environment. "
            "Convert it, or choose images: scale, which guesses the scale"
        )
    if picture.dtype == np.uint8:
        return picture.copy()
    highest, lowest = picture.max(), picture.min()
    if not (lowest >= 0 and highest <= 255):
        raise TrajectoryValueError(
            f"recording a frame: {name} has values from {lowest} to {highest}; "
            "pictures go from 0 to 1 or from 0 to 255"
        )
    return (picture * 255 if highest <= 1.0 else picture).astype(np.uint8)
