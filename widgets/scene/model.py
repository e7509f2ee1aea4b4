"""What the scene knows between two pictures: shapes, survey, overlays. No Qt, no GL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.bounds import ball, box, moving
from isoscope.widgets.scene.ghosts import ghost_state, set_apart
from isoscope.widgets.scene.palette import actor_colours
from isoscope.widgets.scene.picture import Picture, picture_of
from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.shapes import NO_SHAPES, Shapes, extend
from isoscope.widgets.scene.state import NOTHING, Intent, Overlay, SceneState
from isoscope.widgets.scene.survey import Survey, survey

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.between import Between
    from isoscope.core.recording.model import Labels, Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.state import Whose
    from isoscope.widgets.theme import Tokens

# A growing recording is looked at anew when it has grown by this factor.
_LOOK_AGAIN = 4


class SceneModel:
    """One recording as the scene sees it."""

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self.shapes: Shapes = NO_SHAPES
        self.survey = Survey()
        self.state: SceneState = NOTHING
        self.overlays: tuple[Overlay, ...] = ()
        self.colour_hook: Callable[[int, int], str | None] | None = None
        self.labels: Labels | None = None  # whose each step was
        self.tint: str | None = None  # one colour for all that move
        self._overlay = 0  # which of them is shown; their number for none
        self._asked: str | None = None  # the overlay asked for, by name
        self._unasked = True  # whether nobody has asked for one, or for none
        self._surveyed_rows = 0
        self._colours: list[str] = []
        self._coloured: tuple[Shapes, Tokens, str | None] | None = None
        self._others: dict[int, tuple[Recording, Shapes]] = {}

    # -- what is shown ----------------------------------------------------------------

    def follow(self, recording: Recording | None, *, look_again: bool = False) -> bool:
        """Show this recording, or take in what it has grown by.

        Parameters
        ----------
        look_again
            Whether to survey it even if it hasn't grown much.

        Returns
        -------
        bool
            Whether the survey is new, so that a camera nobody has moved may follow it.
        """
        if recording is not self.recording:
            self.recording = recording
            self.shapes = NO_SHAPES
            self._surveyed_rows = 0
        if recording is None:
            self.survey = Survey()
            return False
        self.shapes = extend(self.shapes, list(recording.actors))
        rows = len(recording)
        new = rows >= _LOOK_AGAIN * self._surveyed_rows or (
            look_again and rows != self._surveyed_rows
        )
        if rows and new:
            self.survey = survey(recording, self.shapes)
            self._surveyed_rows = rows
            return True
        return False

    def picture(
        self,
        row: int,
        intent: Intent,
        tokens: Tokens,
        whose: Whose | None = None,
        between: Between | None = None,
    ) -> Picture:
        """Resolve this row, or the overlay's own; `state` is what came out.

        `whose` says whose state it is, where that isn't who stepped the row; `between`
        where between it and a later one it is drawn.
        """
        recording = self.recording
        overlay = self.overlay
        if overlay is not None and overlay.row is not None:
            row, between = overlay.row, None
        if recording is None:
            self.state = NOTHING
        else:
            state = resolve(recording, self.shapes, row, intent, self.labels, between)
            if whose is not None and state.row >= 0:
                state = replace(state, whose=whose)
            self.state = state
        ghosts = []
        if recording is not None and overlay is not None:
            ghosts = [
                (
                    ghost,
                    ghost_state(
                        recording,
                        self.shapes,
                        ghost,
                        intent.hidden,
                        self.shapes_of,
                        between if ghost.recording is not None else None,
                    ),
                )
                for ghost in overlay.ghosts
            ]
        colours = [self.colour(i, row, tokens) for i in range(len(self.shapes))]
        return picture_of(
            self.shapes,
            self.survey,
            self.state,
            intent,
            colours,
            tokens,
            overlay,
            ghosts,
        )

    def colour(self, actor: int, row: int, tokens: Tokens) -> str:
        """The colour of an actor in a row: the hook's or, without, its usual one."""
        if self.colour_hook is not None and self.shapes[actor].moving:
            chosen = self.colour_hook(actor, row)
            if chosen is not None:
                return chosen
        key = (self.shapes, tokens, self.tint)
        if self._coloured != key:
            self._coloured = key
            self._colours = actor_colours(self.shapes, tokens, self.tint)
        return self._colours[actor]

    def shapes_of(self, recording: Recording) -> Shapes:
        """The shapes of another recording's actors."""
        found = self._others.get(id(recording))
        known = found[1] if found is not None else NO_SHAPES
        shapes = extend(known, list(recording.actors))
        # Holding the recording too keeps its id from being given to another one.
        self._others[id(recording)] = (recording, shapes)
        return shapes

    # -- overlays ---------------------------------------------------------------------

    @property
    def overlay(self) -> Overlay | None:
        """The overlay that is shown, or None."""
        shown = self._overlay < len(self.overlays)
        return self.overlays[self._overlay] if shown else None

    def set_overlays(self, overlays: tuple[Overlay, ...]) -> None:
        """Offer these, and show the first."""
        self.overlays = overlays
        self._overlay = 0
        self._others.clear()

    def offer(self, overlays: tuple[Overlay, ...]) -> None:
        """Offer these at another cursor, and show what was asked for by its name.

        A proof is shown unasked, until something is asked for.
        """
        self.overlays = tuple(
            set_apart(overlay, self.survey) if overlay.apart else overlay
            for overlay in overlays
        )
        found = [
            at
            for at, overlay in enumerate(overlays)
            if (overlay.proof if self._unasked else overlay.name == self._asked)
        ]
        self._overlay = found[0] if found else len(overlays)

    def forget_asked(self) -> None:
        """Show proofs unasked again, as when another finding is looked at."""
        self._asked, self._unasked = None, True

    def cycle_overlay(self) -> bool:
        """Show the next one and, after the last, none; whether there is any."""
        if not self.overlays:
            return False
        self._overlay = (self._overlay + 1) % (len(self.overlays) + 1)
        self._unasked = False
        self._asked = None if self.overlay is None else self.overlay.name
        return True

    # -- where things are -------------------------------------------------------------

    def whole_box(self) -> tuple[Array, Array]:
        """Corners [3] of the whole recording's box, and what an overlay puts beside."""
        low, high = self._beside()
        return self.survey.low + low, self.survey.high + high

    def box_of(self, actor: int | None) -> tuple[Array, Array]:
        """Corners [3] of the box to frame: this actor's or, without one, everything's.

        Where the bodies drift through the recording, everything is what is there now.
        """
        actors: list[int] = []
        if actor is not None and actor < len(self.shapes):
            actors = [actor, *self.shapes.links.get(actor, ())]
        found = box(self.shapes, self.state, actors, 0.02 * self.survey.scale_m)
        if found is None and self.survey.drifts:
            around = box(self.shapes, self.state, moving(self.shapes))
            if around is not None:
                low, high = self._beside()
                return around[0] + low, around[1] + high
        return found if found is not None else self.whole_box()

    def _beside(self) -> tuple[Array, Array]:
        beside = [np.zeros(3)]
        if self.overlay is not None:
            beside += [np.array(ghost.offset) for ghost in self.overlay.ghosts]
        return np.min(beside, axis=0), np.max(beside, axis=0)

    def centre_of(self, actor: int | None) -> Array | None:
        """Middle [3] of this actor or, where it isn't drawn, of all that move."""
        chosen = () if actor is None else (actor, *self.shapes.links.get(actor, ()))
        for actors in (chosen, moving(self.shapes)):
            balls = [ball(self.shapes, self.state, i) for i in actors]
            centres = [b[0] for b in balls if b is not None]
            if centres:
                return np.asarray(np.mean(centres, axis=0))
        return None
