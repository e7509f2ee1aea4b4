"""How a theme's colours become light, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.palette import linear, mixed, rgb

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.theme import Tokens


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """Colours and light of the scene in one theme.

    Attributes
    ----------
    top, bottom
        sRGB [3] of the backdrop.
    line, surface
        sRGB [3] of the grid's lines; sRGB and alpha [4] of a recorded ground.
    sky, bounce
        Light [3] from above and from below.
    key_power
        Of the one light that throws shadows.
    shadow
        sRGB and alpha [4] where the ground is in shadow.
    accent
        sRGB and alpha [4] of the outline around what is selected.
    """

    top: Array
    bottom: Array
    line: Array
    surface: Array
    sky: Array
    bounce: Array
    key_power: float
    shadow: Array
    accent: Array


def look_of(tokens: Tokens) -> Look:
    """The scene's look in this theme."""
    dark = linear(rgb(tokens.scene_top)).mean() < 0.2
    top = rgb(tokens.scene_top)
    tint = linear(top) / max(float(linear(top).max()), 1e-6)
    if dark:
        surface = np.append(0.5 * top + 0.5 * rgb(tokens.ground), 0.30)
        sky, bounce, key = 0.42 * tint, 0.16 * tint, 0.62
        shadow = np.array([0.0, 0.0, 0.0, 0.50])
    else:
        surface = np.append(np.ones(3), 0.45)
        sky, bounce, key = 0.60 * tint, 0.34 * tint, 0.46
        shadow = np.append(0.25 * rgb(tokens.text), 0.22)
    return Look(
        top=top,
        bottom=rgb(tokens.scene_bottom),
        line=rgb(tokens.ground),
        surface=surface,
        sky=sky,
        bounce=bounce,
        key_power=key,
        shadow=shadow,
        # Between accent and text: seen around a body of the accent's own colour too.
        accent=np.append(rgb(mixed(tokens.accent, tokens.text, 0.55)), 1.0),
    )
