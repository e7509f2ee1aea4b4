"""Draws one state: what the graphics card holds of it, and the order of a frame.

A stage can be drawn into any rectangle of the canvas with any camera, so that several
can share a canvas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from vispy import gloo

from isoscope.widgets.scene.draw.actors import ActorTexture
from isoscope.widgets.scene.draw.bodies import Bodies, Deformed
from isoscope.widgets.scene.draw.strokes import StrokeLayer
from isoscope.widgets.scene.draw.surroundings import Backdrop, Ground

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera
    from isoscope.widgets.scene.draw.look import Look
    from isoscope.widgets.scene.marks import Strokes
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.survey import Survey

_OUTLINE_PX = 2.2
_RIM_PX = 1.1
_OUTLINE_STEPS = 12
_SILHOUETTE = 0x80
# Each pass of the shadow moves the light a little: the overlap is a soft edge. One bit
# of the stencil a pass, and one is the silhouette's.
_SOFT = [(0.0, 0.0)] + [
    (0.028 * float(np.cos(a)), 0.028 * float(np.sin(a)))
    for a in 2 * np.pi * np.arange(6) / 6
]


@dataclass(frozen=True, slots=True, eq=False)
class Viewport:
    """A rectangle of the canvas in physical pixels, from the lower left corner."""

    x: int
    y: int
    width: int
    height: int
    scale: float = 1.0

    @property
    def aspect(self) -> float:
        """Width over height."""
        return self.width / max(self.height, 1)


@dataclass(slots=True, eq=False)
class Copy:
    """One state of the actors on the graphics card: the live one or a ghost."""

    actors: ActorTexture
    deformed: Deformed
    rim: tuple[float, ...] | None = None  # sRGB and alpha of a thin line around it


class Stage:
    """The graphics card's part of the scene. Every call needs a current context."""

    def __init__(self) -> None:
        self._bodies = Bodies()
        self._backdrop = Backdrop()
        self._ground = Ground()
        self._lines = StrokeLayer()
        self._through = StrokeLayer()
        self._origin = np.zeros(3)
        self._live = Copy(ActorTexture(), self._bodies.deformed())
        self._ghosts: list[Copy] = []

    # -- what there is ----------------------------------------------------------------

    def load(self, shapes: Shapes, origin: Array) -> None:
        """Take the meshes; `origin` [3] is what positions are told relative to."""
        self._bodies.load(shapes)
        self._origin = origin
        self._live = self._copy()
        self._ghosts = []

    def _copy(self) -> Copy:
        return Copy(ActorTexture(), self._bodies.deformed())

    def place(
        self, transforms: Array, colours: Array, surfaces: dict[int, Array]
    ) -> None:
        """Take the live state: transforms [n, 3, 4], linear colours [n, 4]."""
        self._place(self._live, transforms, colours, surfaces)

    def place_ghosts(
        self,
        states: Sequence[tuple[Array, Array, dict[int, Array]]],
        rims: Sequence[tuple[float, ...] | None],
    ) -> None:
        """Take the ghosts' states, as `place` takes the live one.

        A rim is the sRGB and alpha of a thin line around a translucent ghost.
        """
        while len(self._ghosts) < len(states):
            self._ghosts.append(self._copy())
        del self._ghosts[len(states) :]
        for ghost, state, rim in zip(self._ghosts, states, rims, strict=True):
            self._place(ghost, *state)
            ghost.rim = rim

    def _place(
        self, copy: Copy, transforms: Array, colours: Array, surfaces: dict[int, Array]
    ) -> None:
        placed = transforms.copy()
        for actor in surfaces:
            # Deformable surfaces are in the world already, and relative to the origin.
            placed[actor] = np.eye(3, 4)
            placed[actor, :, 3] = self._origin
        copy.actors.update(placed, colours, self._origin)
        self._bodies.deform(copy.deformed, surfaces, self._origin)

    def mark(self, lines: Strokes, through: Strokes) -> None:
        """Take the strokes among the bodies, and those that shine through them."""
        self._lines.update(lines, self._origin)
        self._through.update(through, self._origin)

    # -- a frame ----------------------------------------------------------------------

    def draw(
        self,
        viewport: Viewport,
        camera: Camera,
        look: Look,
        survey: Survey,
        *,
        chosen: tuple[int, ...] = (),
        wire: bool = False,
    ) -> None:
        """Draw it into this rectangle."""
        near, _ = camera.near_far()
        clip = clip_of(camera, viewport.aspect, self._origin)
        size = (viewport.width, viewport.height)
        gloo.set_viewport(viewport.x, viewport.y, *size)
        gloo.set_state(
            depth_test=False, blend=False, cull_face=False, stencil_test=False
        )
        gloo.set_depth_mask(True)
        self._backdrop.draw(look.top, look.bottom)
        if self._live.actors.texture is None:
            return
        lit = light_of(camera, look, clip, self._origin)
        gloo.set_state(depth_test=True)
        gloo.set_depth_func("lequal")
        everything = [self._live, *self._ghosts]
        for copy in everything:
            self._bodies.draw_lit(
                copy.actors, copy.deformed, lit, translucent=False, wire=wire
            )
        gloo.set_depth_mask(False)
        gloo.set_state(
            blend=True,
            blend_func=(
                "src_alpha",
                "one_minus_src_alpha",
                "one",
                "one_minus_src_alpha",
            ),
        )
        real = bool(survey.grounds)
        surface = look.surface if real else look.surface * np.array([1, 1, 1, 0])
        self._ground.draw(
            camera,
            clip,
            survey.ground_m,
            self._origin,
            look.line,
            surface,
            1.0 if real else 0.8,
            viewport.scale,
        )
        if real and not wire:
            self._shadows(camera, look, survey, clip)
        self._translucent(self._live, lit, wire)
        # A ghost in the very place of the live body stays behind it, not in stripes.
        gloo.set_state(polygon_offset_fill=True)
        gloo.set_polygon_offset(1.0, 4.0)
        for ghost in self._ghosts:
            self._translucent(ghost, lit, wire)
        gloo.set_state(polygon_offset_fill=False)
        gloo.set_depth_mask(False)
        for ghost in self._ghosts:
            if ghost.rim is not None and self._bodies.everyone:
                everyone = self._bodies.everyone
                self._outline(ghost, everyone, ghost.rim, _RIM_PX, viewport, clip)
        self._lines.draw(clip, size, viewport.scale, near)
        self._through.draw(clip, size, viewport.scale, near)
        gloo.set_depth_func("greater")
        self._through.draw(clip, size, viewport.scale, near, alpha=0.4)
        gloo.set_depth_func("lequal")
        if self._bodies.has(chosen):
            gloo.set_state(depth_test=False)
            self._outline(
                self._live, chosen, tuple(look.accent), _OUTLINE_PX, viewport, clip
            )
            gloo.set_state(depth_test=True)
        gloo.set_depth_mask(True)

    def _translucent(self, copy: Copy, lit: dict[str, Any], wire: bool) -> None:
        # Depth first, so that only the front of a translucent body is seen.
        gloo.set_color_mask(False, False, False, False)
        gloo.set_depth_mask(True)
        self._bodies.draw_lit(
            copy.actors, copy.deformed, lit, translucent=True, wire=wire
        )
        gloo.set_color_mask(True, True, True, True)
        gloo.set_depth_mask(False)
        self._bodies.draw_lit(
            copy.actors, copy.deformed, lit, translucent=True, wire=wire
        )

    def _shadows(self, camera: Camera, look: Look, survey: Survey, clip: Array) -> None:
        above = float(camera.up @ camera.eye) > survey.ground_m
        if not above:
            return
        right, ahead = camera.level
        key = key_light(camera)
        base = {
            "u_clip": clip,
            "u_up": camera.up,
            "u_ground": survey.ground_m - float(camera.up @ self._origin),
            "u_colour": (*look.shadow[:3], look.shadow[3] / len(_SOFT)),
            "u_reach": max(survey.size_m, 1e-9),
        }
        gloo.set_state(stencil_test=True)
        for bit, (x, y) in enumerate(_SOFT):
            # Each pixel is darkened once a pass, however many triangles lie over it.
            mask = 1 << bit
            gloo.set_stencil_mask(mask)
            gloo.set_stencil_func("notequal", mask, mask)
            gloo.set_stencil_op("keep", "keep", "replace")
            moved = key + x * right + y * ahead
            look_here = {**base, "u_key": moved / np.linalg.norm(moved)}
            self._bodies.draw_shadows(self._live.actors, self._live.deformed, look_here)
        gloo.set_state(stencil_test=False)

    def _outline(
        self,
        copy: Copy,
        chosen: tuple[int, ...],
        colour: tuple[float, ...],
        width_px: float,
        viewport: Viewport,
        clip: Array,
    ) -> None:
        """A line around the silhouette of these actors.

        The silhouette goes to the stencil, then the actors are drawn in one colour,
        shifted all around, wherever the silhouette isn't. That needs no normals, so it
        works for any mesh.
        """
        gloo.set_stencil_mask(0xFF)
        gloo.clear(color=False, depth=False, stencil=True)
        gloo.set_state(stencil_test=True)
        gloo.set_stencil_mask(_SILHOUETTE)
        gloo.set_stencil_func("always", _SILHOUETTE, _SILHOUETTE)
        gloo.set_stencil_op("replace", "replace", "replace")
        gloo.set_color_mask(False, False, False, False)
        self._bodies.draw_flat(
            copy.actors, copy.deformed, chosen, clip, (0.0, 0.0), (0.0,) * 4
        )
        gloo.set_color_mask(True, True, True, True)
        gloo.set_stencil_func("notequal", _SILHOUETTE, _SILHOUETTE)
        gloo.set_stencil_op("keep", "keep", "replace")
        width = 2 * width_px * viewport.scale
        # A pixel that is drawn marks itself, so the passes don't blend twice.
        for angle in 2 * np.pi * np.arange(_OUTLINE_STEPS) / _OUTLINE_STEPS:
            shift = (
                float(np.cos(angle)) * width / viewport.width,
                float(np.sin(angle)) * width / viewport.height,
            )
            self._bodies.draw_flat(
                copy.actors, copy.deformed, chosen, clip, shift, colour
            )
        gloo.set_state(stencil_test=False)


def key_light(camera: Camera) -> Array:
    """Unit vector [3] towards the light that throws shadows; fixed in the world."""
    right, forward = camera.level
    towards = 0.9 * camera.up - 0.42 * right - 0.38 * forward
    unit: Array = towards / np.linalg.norm(towards)
    return unit


def light_of(camera: Camera, look: Look, clip: Array, origin: Array) -> dict[str, Any]:
    """The uniforms of lit bodies; `origin` [3] is what positions are relative to."""
    return {
        "u_clip": clip,
        "u_eye": camera.eye - origin,
        "u_up": camera.up,
        "u_key": key_light(camera),
        "u_sky": look.sky,
        "u_bounce": look.bounce,
        "u_key_power": look.key_power,
    }


def clip_of(camera: Camera, aspect: float, origin: Array) -> Array:
    """Clip from world-relative-to-origin, transposed as gloo takes it."""
    view = camera.view()
    view[:3, 3] = -view[:3, :3] @ (camera.eye - origin)
    return (camera.projection(aspect) @ view).T.astype(np.float32)
