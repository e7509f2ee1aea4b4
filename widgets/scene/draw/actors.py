"""The texture that tells the shaders where each actor is and what colour it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from vispy import gloo

from isoscope.widgets.scene.draw.shaders import ACTORS_A_LINE

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array


class ActorTexture:
    """Four texels an actor: the rows of its transform, then its colour.

    Uploaded only when something changed.
    """

    def __init__(self) -> None:
        self._texels: Array = np.zeros((0, ACTORS_A_LINE, 4, 4), np.float32)
        self.texture: gloo.Texture2D | None = None

    @property
    def lines(self) -> int:
        """Height of the texture."""
        return len(self._texels)

    def update(self, transforms: Array, colours: Array, origin: Array) -> None:
        """Take transforms [n, 3, 4] and colours [n, 4] (linear, alpha 0 hides).

        What has no finite transform is hidden.
        """
        count = len(transforms)
        lines = max(1, -(-count // ACTORS_A_LINE))
        texels: Array = np.zeros((lines * ACTORS_A_LINE, 4, 4), np.float32)
        texels[:count, :3] = transforms
        texels[:count, :3, 3] -= origin
        texels[:count, 3] = colours
        texels[:count, 3, 3][~np.isfinite(texels[:count, :3]).all(axis=(1, 2))] = 0.0
        np.nan_to_num(texels, copy=False, posinf=0.0, neginf=0.0)
        texels = texels.reshape(lines, ACTORS_A_LINE, 4, 4)
        if self.texture is not None and np.array_equal(texels, self._texels):
            return
        image = texels.reshape(lines, 4 * ACTORS_A_LINE, 4)
        if self.texture is None or lines != len(self._texels):
            self.texture = gloo.Texture2D(
                image, interpolation="nearest", internalformat="rgba32f"
            )
        else:
            self.texture.set_data(image)
        self._texels = texels
