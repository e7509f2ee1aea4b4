"""All bodies' triangles: lit, as shadows, as outlines; rigid and deformable alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from vispy import gloo

from isoscope.widgets.scene.draw import shaders
from isoscope.widgets.scene.normals import smoothing
from isoscope.widgets.scene.shapes import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.draw.actors import ActorTexture
    from isoscope.widgets.scene.normals import Smoothing
    from isoscope.widgets.scene.shapes import Shape, Shapes

CORNER = np.dtype(
    [
        ("a_position", np.float32, 3),
        ("a_normal", np.float32, 3),
        ("a_actor", np.float32),
        ("a_corner", np.float32),
    ]
)
# Sets of chosen actors whose indices stay on the graphics card: a grid's cells, and
# what is selected now and then.
_MOST_KEPT = 96


class Deformed:
    """The corners of the deformable bodies in one state: the live one or a ghost's."""

    def __init__(self, corners: Array) -> None:
        self.corners = corners.copy()
        self.buffer = gloo.VertexBuffer(self.corners) if len(corners) else None

    def upload(self) -> None:
        """Send the corners after they were changed in place."""
        if self.buffer is not None:
            self.buffer.set_data(self.corners)


@dataclass(slots=True, eq=False)
class DrawnCell:
    """One cell of a grid on the graphics card.

    Attributes
    ----------
    first
        Where its copy of the actors begins in the texture.
    only
        The actors that are in it; None for all.
    deformed
        The corners of its deformable bodies.
    """

    first: int
    only: tuple[int, ...] | None
    deformed: Deformed


class Bodies:
    """The geometry of a recording's actors, on the graphics card.

    Where there is none nothing is asked of the card at all: what a program is told
    waits until it is drawn, and would wait for ever.
    """

    def __init__(self) -> None:
        self._lit = gloo.Program(shaders.BODY_VERTEX, shaders.BODY_FRAGMENT)
        self._flat = gloo.Program(shaders.FLAT_VERTEX, shaders.FLAT_FRAGMENT)
        self._shadow = gloo.Program(shaders.SHADOW_VERTEX, shaders.SHADOW_FRAGMENT)
        for program in (self._lit, self._flat, self._shadow):
            program["u_first"] = 0.0
        self._rigid: gloo.VertexBuffer | None = None
        self._template = np.zeros(0, CORNER)
        self._smoothing: dict[int, Smoothing] = {}
        # By actor: whether it is deformable, and its range of corners.
        self._ranges: dict[int, tuple[bool, int, int]] = {}
        self._indices: dict[tuple[int, ...], list[tuple[bool, Any]]] = {}

    def load(self, shapes: Shapes) -> None:
        """Send the meshes; only when the actors change."""
        self._smoothing.clear()
        self._ranges.clear()
        self._indices.clear()
        rigid = self._gather(shapes.of_kind(Kind.BODY), deformable=False)
        self._template = self._gather(shapes.of_kind(Kind.DEFORMABLE), deformable=True)
        self._rigid = gloo.VertexBuffer(rigid) if len(rigid) else None

    def _gather(self, shapes: list[Shape], *, deformable: bool) -> Array:
        parts = []
        start = 0
        # Many actors have equal meshes.
        smoothed: dict[tuple[bytes, bytes], Smoothing] = {}
        for shape in shapes:
            if shape.mesh is None or not len(shape.mesh.faces):
                continue
            positions, faces = shape.mesh.positions, shape.mesh.faces
            key = (positions.tobytes(), faces.tobytes())
            smooth = smoothed.get(key)
            if smooth is None:
                smooth = smoothed[key] = smoothing(positions, faces)
            part = np.zeros(3 * len(faces), CORNER)
            part["a_position"] = positions[faces].reshape(-1, 3)
            part["a_normal"] = smooth.corner_normals(positions)
            part["a_actor"] = shape.index
            part["a_corner"] = np.tile(np.arange(3, dtype=np.float32), len(faces))
            self._ranges[shape.index] = (deformable, start, start + len(part))
            if deformable:
                self._smoothing[shape.index] = smooth
            start += len(part)
            parts.append(part)
        return np.concatenate(parts) if parts else np.zeros(0, CORNER)

    def deformed(self) -> Deformed:
        """Room for the deformable bodies of one state."""
        return Deformed(self._template)

    def deform(
        self, into: Deformed, surfaces: Mapping[int, Array], origin: Array
    ) -> None:
        """Take the world positions [p, 3] of the deformable surfaces."""
        for actor, smooth in self._smoothing.items():
            surface = surfaces.get(actor)
            if surface is None:
                continue
            _, start, stop = self._ranges[actor]
            local = surface - origin
            corners = into.corners[start:stop]
            corners["a_position"] = local[smooth.faces].reshape(-1, 3)
            corners["a_normal"] = smooth.corner_normals(local)
        if surfaces:
            into.upload()

    # -- drawing ----------------------------------------------------------------------

    def draw_lit(
        self,
        actors: ActorTexture,
        deformed: Deformed,
        look: Mapping[str, Any],
        *,
        translucent: bool,
        wire: bool = False,
    ) -> None:
        """The opaque or the translucent ones, with light."""
        if not self._ranges:
            return
        program = self._lit
        for name, value in look.items():
            program[name] = value
        program["u_translucent"] = float(translucent)
        program["u_wire"] = float(wire)
        self._draw(program, actors, deformed)

    def draw_shadows(
        self, actors: ActorTexture, deformed: Deformed, look: Mapping[str, Any]
    ) -> None:
        """Flattened onto the ground, in one colour."""
        if not self._ranges:
            return
        for name, value in look.items():
            self._shadow[name] = value
        self._draw(self._shadow, actors, deformed)

    def has(self, chosen: tuple[int, ...]) -> bool:
        """Whether any of these actors has triangles."""
        return any(actor in self._ranges for actor in chosen)

    @property
    def everyone(self) -> tuple[int, ...]:
        """All actors that have triangles."""
        return tuple(self._ranges)

    def _indices_of(self, chosen: tuple[int, ...]) -> list[tuple[bool, Any]]:
        """Index buffers of these actors' corners, for rigid and deformable ones."""
        found = self._indices.get(chosen)
        if found is not None:
            return found
        if len(self._indices) > _MOST_KEPT:
            self._indices.clear()
        found = self._indices[chosen] = []
        for deformable in (False, True):
            ranges = [self._ranges[a] for a in chosen if a in self._ranges]
            runs = [
                np.arange(b, e, dtype=np.uint32)
                for d, b, e in ranges
                if d is deformable
            ]
            if runs:
                found.append((deformable, gloo.IndexBuffer(np.concatenate(runs))))
        return found

    def draw_flat(
        self,
        actors: ActorTexture,
        deformed: Deformed,
        chosen: tuple[int, ...],
        clip: Array,
        shift: tuple[float, float],
        colour: tuple[float, ...],
    ) -> None:
        """These actors in one colour, moved sideways in the picture."""
        if not self.has(chosen):
            return
        program = self._flat
        program["u_clip"] = clip
        program["u_shift"] = shift
        program["u_colour"] = colour
        program["u_actors"] = actors.texture
        program["u_lines"] = float(actors.lines)
        for deformable, indices in self._indices_of(chosen):
            buffer = deformed.buffer if deformable else self._rigid
            if buffer is None:
                continue
            for name in ("a_position", "a_actor"):
                program[name] = buffer[name]
            program.draw("triangles", indices)

    # -- cells of a grid --------------------------------------------------------------

    def draw_cells(
        self,
        shadows: bool,
        actors: ActorTexture,
        cells: Sequence[DrawnCell],
        look: Mapping[str, Any],
        enter: Callable[[int], None],
    ) -> None:
        """Draw the actors of each cell, lit or as shadows, with few calls a cell.

        Parameters
        ----------
        actors
            The states of all cells, one copy of the actors after the other.
        cells
            What is in them.
        look
            Uniforms, the same for all.
        enter
            Called with a cell's number before it is drawn.
        """
        if not self._ranges:
            return
        program = self._shadow if shadows else self._lit
        for name, value in look.items():
            program[name] = value
        program["u_actors"] = actors.texture
        program["u_lines"] = float(actors.lines)
        for deformable in (False, True):
            bound = None
            for number, cell in enumerate(cells):
                buffer = cell.deformed.buffer if deformable else self._rigid
                if buffer is None:
                    continue
                if buffer is not bound:
                    bound = buffer
                    for name in self._needs(program):
                        program[name] = buffer[name]
                enter(number)
                program["u_first"] = float(cell.first)
                if cell.only is None:
                    program.draw("triangles")
                    continue
                for kind, indices in self._indices_of(cell.only):
                    if kind is deformable:
                        program.draw("triangles", indices)
        program["u_first"] = 0.0

    def _draw(
        self, program: gloo.Program, actors: ActorTexture, deformed: Deformed
    ) -> None:
        program["u_actors"] = actors.texture
        program["u_lines"] = float(actors.lines)
        for buffer in (self._rigid, deformed.buffer):
            if buffer is None:
                continue
            for name in CORNER.names or ():
                if name in self._needs(program):
                    program[name] = buffer[name]
            program.draw("triangles")

    def _needs(self, program: gloo.Program) -> tuple[str, ...]:
        if program is self._lit:
            return CORNER.names or ()
        return ("a_position", "a_actor")
