"""What can be asked of the Scene panel: what to show, and from where."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from isoscope.widgets.panel import Panel
from isoscope.widgets.scene.ghosts import side_by_side
from isoscope.widgets.scene.grid.mode import GridMode
from isoscope.widgets.scene.model import SceneModel
from isoscope.widgets.scene.pair import PairMode
from isoscope.widgets.scene.past_end import PastEndMode
from isoscope.widgets.scene.state import Overlay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtWidgets import QWidget

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.director import Director
    from isoscope.widgets.scene.state import Ghost
    from isoscope.widgets.session import Document, Session


class SceneCommands(Panel):
    """The Scene panel's commands over what it knows; the panel itself draws."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.model = SceneModel()
        self.grid = GridMode()
        self.pair = PairMode()
        self.past = PastEndMode()
        self.contacts_shown = True
        self.trails_shown = False
        self.wireframe = False
        self._given = False  # whether overlays were set from outside
        self._document: Document | None = None
        self._director: Director | None = None

    @abstractmethod
    def _schedule(self, *_: object) -> None:
        """Show anew what changed, once in this turn of the event loop."""

    @abstractmethod
    def _frame(self, low: Array, high: Array, *, chosen: bool = True) -> None:
        """Look at this box; `chosen` says whether the view is the user's own."""

    # -- where from --------------------------------------------------------------------

    def frame_selection(self) -> None:
        """Look at the selected actor or, without one, at all that move."""
        document = self._document
        chosen = document.selection.actor if document is not None else None
        self._frame(*self.model.box_of(chosen), chosen=chosen is not None)

    def frame_all(self) -> None:
        """Look at everywhere that bodies go in the whole recording."""
        self._frame(*self.model.whole_box(), chosen=self.model.survey.drifts)

    def toggle_tracking(self) -> None:
        """Let the camera go along with the selected actor (or all), or stand still."""
        if self._director is not None:
            self._director.toggle_tracking()
            self._schedule()

    def look_along(self, axis: int, sign: int) -> None:
        """Look along a world axis (0 to 2), from its positive or negative end."""
        if self._director is not None:
            self._director.look_along(axis, sign)

    # -- what to show ------------------------------------------------------------------

    def toggle_grid(self) -> None:
        """Show one small scene for each environment, or one scene."""
        self.show_grid(not self.grid.on)

    def show_grid(self, on: bool) -> None:
        """Show one small scene for each environment (or one scene)."""
        if on != self.grid.on:
            self.grid.on = on
            self._schedule()

    @property
    def beside(self) -> bool:
        """Whether what was recorded and what was stepped again stand side by side."""
        document = self._document
        return (
            document is not None
            and document.replayed is not None
            and document.replay_view == "beside"
            and not self.grid.on
        )

    def toggle_beside(self) -> None:
        """Show what was stepped again beside what was recorded, or as its ghost."""
        document = self._document
        if document is None or document.replayed is None:
            self.session.say(
                "note",
                "Nothing was stepped again to stand beside: run a replay in the "
                "Replay panel first.",
            )
            return
        self.grid.on = False
        document.set_replay_view("ghost" if self.beside else "beside")
        self._schedule()

    def toggle_contacts(self) -> None:
        """Show contact points and force arrows, or not."""
        self.contacts_shown = not self.contacts_shown
        self._schedule()

    def toggle_trails(self) -> None:
        """Show trails, or not."""
        self.trails_shown = not self.trails_shown
        self._schedule()

    def toggle_interpolate(self) -> None:
        """Show states between native steps while playing, marked; or none."""
        self.session.set_interpolate(not self.session.interpolate)

    def toggle_wireframe(self) -> None:
        """Show edges only, or solid bodies."""
        self.wireframe = not self.wireframe
        self._schedule()

    def set_actor_colours(self, hook: Callable[[int, int], str | None] | None) -> None:
        """Colour what moves by a function of (actor index, row), say by environment.

        It gives ``"#rrggbb"``, or None for the actor's usual colour.
        """
        self.model.colour_hook = hook
        self._schedule()

    def actor_colour(self, actor: int) -> str:
        """The colour that an actor has at the cursor, for other panels to use too."""
        if actor >= len(self.model.shapes):
            return self.tokens.dim
        return self.model.colour(actor, self.session.clock.row, self.tokens)

    # -- what to lay over it -----------------------------------------------------------

    def cycle_overlay(self) -> None:
        """Show the next overlay and, after the last, none; nothing without any."""
        if self.model.cycle_overlay():
            self._schedule()

    def set_overlays(self, overlays: Sequence[Overlay]) -> None:
        """Offer these overlays and show the first; see `cycle_overlay`."""
        self._given = bool(overlays)
        self.model.set_overlays(tuple(overlays))
        self._schedule()

    def set_ghosts(
        self, ghosts: Sequence[Ghost], name: str = "ghosts", here: str = ""
    ) -> None:
        """Show these ghosts together; none takes them away.

        Parameters
        ----------
        name, here
            See `Overlay`.
        """
        overlay = Overlay(name, tuple(ghosts), here)
        self.set_overlays([overlay] if ghosts else [])

    def set_side_by_side(
        self, entries: Sequence[tuple[int, str, str]], here: str = ""
    ) -> None:
        """Show these rows' states beside the present one: (row, label, colour) each."""
        overlay = side_by_side(entries, self.model.survey, here)
        self.set_overlays([overlay] if entries else [])
        self.frame_all()
