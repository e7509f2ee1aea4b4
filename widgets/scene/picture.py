"""From a resolved state to the numbers that are uploaded. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene import marks
from isoscope.widgets.scene.bounds import ball
from isoscope.widgets.scene.palette import linear, rgb
from isoscope.widgets.scene.shapes import Kind
from isoscope.widgets.scene.state import DRAWN, Pose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.marks import Strokes
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.state import Ghost, Intent, Overlay, SceneState
    from isoscope.widgets.scene.survey import Survey
    from isoscope.widgets.theme import Tokens

FADED = 0.35
_HEAD_PART = 0.022  # of the scene's size: an arrow's head
# Of the scene's size: the longest of an overlay's arrows, and where they stand.
_ARROW_PART, _BESIDE_PART, _BETWEEN_PART = 0.34, 0.34, 0.22
_BARE_PART = 0.03  # of the scene's size: a cross' arm


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """One state: transforms [n, 3, 4], linear colours [n, 4], deformed surfaces.

    `rim` is the sRGB and alpha of a thin line around it, or None.
    """

    transforms: Array
    colours: Array
    surfaces: Mapping[int, Array]
    rim: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WorldText:
    """A text at a place [3] in the world; `beside` it, if there is room, or over it."""

    text: str
    colour: str
    place: Array
    beside: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Everything that is drawn.

    Attributes
    ----------
    live, ghosts
        The present state and the others.
    lines, through
        Strokes among the bodies, and those that shine through them.
    chosen
        Actors that an outline is drawn around.
    texts
        Labels in the world.
    """

    live: Placed
    ghosts: tuple[Placed, ...]
    lines: Strokes
    through: Strokes
    chosen: tuple[int, ...]
    texts: tuple[WorldText, ...]


def metres_per_newton(survey: Survey) -> float:
    """How long force arrows are; the same over the whole recording."""
    return marks.ARROW_PART * survey.scale_m / survey.force_n if survey.force_n else 0.0


def picture_of(
    shapes: Shapes,
    survey: Survey,
    state: SceneState,
    intent: Intent,
    colours: Sequence[str],
    tokens: Tokens,
    overlay: Overlay | None = None,
    ghosts: Sequence[tuple[Ghost, SceneState]] = (),
) -> Picture:
    """The picture of this state.

    Parameters
    ----------
    colours
        ``"#rrggbb"`` by actor index.
    overlay
        What the ghosts belong to.
    ghosts
        Each ghost with the state it shows.
    """
    head = _HEAD_PART * survey.scale_m
    lines = [
        marks.trail_strokes(state.trails, colours),
        marks.link_strokes(state, tokens.dim),
        marks.rod_strokes(shapes, state, colours),
        marks.bare_strokes(shapes, state, colours, _BARE_PART * survey.scale_m),
    ]
    texts = []
    here = None
    if overlay is not None:
        named = {ghost.actors for ghost in overlay.ghosts}
        only = next(iter(named)) if len(named) == 1 else None
        here = _crown(shapes, state, survey.up, only)
    if overlay is not None and overlay.here and here is not None:
        texts.append(WorldText(overlay.here, tokens.text, here[1]))
    placed = []
    through = [
        marks.contact_strokes(
            state.contacts, tokens.contact, metres_per_newton(survey), head
        )
    ]
    for ghost, seen in ghosts:
        if seen.row < 0:
            continue
        placed.append(_placed_ghost(seen, ghost))
        tints = [ghost.colour] * len(shapes)
        lines.append(marks.rod_strokes(shapes, seen, tints, ghost.alpha))
        crown = _crown(shapes, seen, survey.up)
        if crown is None:
            continue
        if ghost.label:
            texts.append(WorldText(ghost.label, ghost.colour, crown[1]))
        if ghost.arrow and here is not None:
            # Between the middles or the tops, whichever are further apart.
            apart = [
                float(np.linalg.norm(b - a)) for a, b in zip(crown, here, strict=True)
            ]
            ends = int(np.argmax(apart))
            size = min(1.6 * head, 0.3 * apart[ends])
            through.append(
                marks.arc(crown[ends], here[ends], survey.up, tokens.error, size)
            )
    if overlay is not None and here is not None:
        for strokes, text in _arrows(overlay, survey, here[0], head):
            through.append(strokes)
            texts.append(text)
    return Picture(
        live=Placed(state.transforms, shades(state, colours), state.deformed),
        ghosts=tuple(placed),
        lines=marks.joined(lines),
        through=marks.joined(through),
        chosen=_chosen(shapes, intent),
        texts=tuple(texts),
    )


def _arrows(
    overlay: Overlay, survey: Survey, middle: Array, head_m: float
) -> Iterator[tuple[Strokes, WorldText]]:
    """An overlay's arrows, in a row beside the present state's middle [3]."""
    room = np.where(np.abs(survey.up) > 0, -np.inf, survey.high - survey.low)
    side = np.eye(3)[int(room.argmax())]
    longest = _ARROW_PART * survey.scale_m
    for place, arrow in enumerate(reversed(overlay.arrows)):
        way = longest * np.array(arrow.direction)
        away = (_BESIDE_PART + place * _BETWEEN_PART) * survey.scale_m
        start = middle - away * side - way / 2
        top = start if float(survey.up @ way) <= 0 else start + way
        text = WorldText(arrow.label, arrow.colour, top, beside=False)
        yield marks.arrow(start, way, arrow.colour, 2.2 * head_m), text


def shades(state: SceneState, colours: Sequence[str]) -> Array:
    """Linear colours [n, 4]; alpha says whether the actor is drawn, and how firmly."""
    out = np.zeros((len(state.poses), 4))
    if len(out):
        srgb = np.array([rgb(colour) for colour in colours[: len(out)]])
        out[:, :3] = linear(srgb)
    out[np.isin(state.poses, DRAWN), 3] = 1.0
    out[state.poses == Pose.NOT_RECORDED, 3] = FADED
    return out


def _placed_ghost(state: SceneState, ghost: Ghost) -> Placed:
    tint = np.zeros((len(state.poses), 4))
    tint[:, :3] = linear(rgb(ghost.colour))
    tint[state.drawn, 3] = ghost.alpha
    red, green, blue = (float(c) for c in rgb(ghost.colour))
    rim = (red, green, blue, 0.8) if ghost.alpha < 1 else None
    return Placed(state.transforms, tint, state.deformed, rim)


def _chosen(shapes: Shapes, intent: Intent) -> tuple[int, ...]:
    chosen = intent.selected
    if chosen is None or chosen >= len(shapes):
        return ()
    return (chosen, *shapes.links.get(chosen, ()))


def _crown(
    shapes: Shapes, state: SceneState, up: Array, only: tuple[int, ...] | None = None
) -> tuple[Array, Array] | None:
    """Middle [3] of the moving actors, and the highest place [3] on one of them."""
    centres, tops = [], []
    for shape in shapes.all:
        if not shape.moving or shape.kind is Kind.ROOT:
            continue
        if only is not None and shape.index not in only:
            continue
        found = ball(shapes, state, shape.index)
        if found is not None:
            centres.append(found[0])
            tops.append(_top(shapes, state, shape.index, found[0], up))
    if not centres:
        return None
    return np.mean(centres, axis=0), max(tops, key=lambda top: float(top @ up))


def _top(
    shapes: Shapes, state: SceneState, actor: int, centre: Array, up: Array
) -> Array:
    """The place [3] on a drawn actor that is highest along the up axis."""
    surface = state.deformed.get(actor)
    if surface is not None:
        top: Array = surface[int((surface @ up).argmax())]
        return top
    mesh = shapes[actor].mesh
    if mesh is None:
        return centre
    half = (mesh.positions.max(axis=0) - mesh.positions.min(axis=0)) / 2
    # The middle of that side of its box which looks up the most.
    arms = state.transforms[actor][:, :3] * half
    rise = up @ arms
    side = int(np.abs(rise).argmax())
    return np.asarray(centre + np.sign(rise[side]) * arms[:, side])
