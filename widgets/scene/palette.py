"""Colours of actors: stable for a recording, the same in every view. No Qt."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.theme import Tokens

# Links of one articulation share its colour; every other one is lighter by this, so
# that joints can be seen.
_LIGHTER = 0.22


@lru_cache(maxsize=4096)
def rgb(colour: str) -> Array:
    """SRGB [3] in 0..1 of ``"#rrggbb"``; shared, so read-only."""
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    values.flags.writeable = False
    return values


def hexadecimal(colour: Array) -> str:
    """``"#rrggbb"`` of sRGB [3] in 0..1."""
    return "#" + "".join(f"{round(255 * float(np.clip(c, 0, 1))):02x}" for c in colour)


def mixed(colour: str, other: str, part: float) -> str:
    """So much of the other colour in this one."""
    return hexadecimal((1 - part) * rgb(colour) + part * rgb(other))


def linear(colours: Array) -> Array:
    """Light intensities [..., 3] of sRGB colours, as shading needs them.

    Source: the sRGB transfer function, IEC 61966-2-1.
    """
    low = colours / 12.92
    high = ((colours + 0.055) / 1.055) ** 2.4
    return np.where(colours <= 0.04045, low, high)


def actor_colours(shapes: Shapes, tokens: Tokens, tint: str | None = None) -> list[str]:
    """A colour for each actor, by index.

    Each free body and each articulation takes the next of the palette, or `tint`, if
    one is given; what never moves is neutral.
    """
    taken = 0
    of_root: dict[int, str] = {}
    colours = []
    for shape in shapes.all:
        if not shape.moving:
            colours.append(tokens.dim)
            continue
        if shape.root >= 0 and shape.root in of_root:
            place = shapes.links[shape.root].index(shape.index)
            base = of_root[shape.root]
            colours.append(mixed(base, "#ffffff", _LIGHTER) if place % 2 == 0 else base)
            continue
        base = tokens.environment(taken) if tint is None else tint
        taken += 1
        if shape.index in shapes.links:
            of_root[shape.index] = base
        colours.append(base)
    return colours
