"""The Scene panel: the recording in three dimensions at the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from isoscope.core.errors import one_line
from isoscope.widgets.isolate.view import Isolated, isolated
from isoscope.widgets.scene.between import between_of
from isoscope.widgets.scene.caption import caption_of, interpolated
from isoscope.widgets.scene.director import Director
from isoscope.widgets.scene.draw import support
from isoscope.widgets.scene.explain import explanation
from isoscope.widgets.scene.nothing import nothing_to_draw
from isoscope.widgets.scene.pair import pair_caption
from isoscope.widgets.scene.pointing import ScenePointing
from isoscope.widgets.scene.state import Intent
from isoscope.widgets.scene.toolbar import SceneToolbar
from isoscope.widgets.scene.tools import show_tools
from isoscope.widgets.session import Document, Phase
from isoscope.widgets.soon import Soon
from isoscope.widgets.turns import InTurn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QShowEvent

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera
    from isoscope.widgets.scene.view import SceneView
    from isoscope.widgets.session import Session


class ScenePanel(ScenePointing):
    """Actors, contacts and trails at the cursor, with a camera to fly through them.

    Without OpenGL it says what is missing, and everything else goes on.
    """

    key: ClassVar[str] = "scene"
    title: ClassVar[str] = "Scene"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._views: WeakKeyDictionary[Document, tuple[Camera, bool]]
        self._views = WeakKeyDictionary()
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._beside: tuple[tuple[float, float, float], ...] = ()
        self._soon = Soon(self, self._refresh)
        self._turn = InTurn(self, self._refresh)  # what a run that is followed asks for
        # The cells that there was no time for yet: after what waits to be painted.
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._refresh)
        self.setMinimumSize(QSize(160, 120))
        problem = support.missing()
        if problem:
            self._explain(problem)
        else:
            self._build()
        self.observe(session.active_changed, self._activated)
        self.observe(session.clock.changed, self._schedule)
        self.observe(session.selection_changed, self._schedule)
        self.observe(session.focus_changed, self._schedule)
        self.observe(session.finding_changed, self._finding_changed)
        self.observe(session.clock.ticked, self._on_tick)
        self.observe(session.interpolate_changed, self._schedule)
        self.apply_theme()
        self._activated(session.active)

    # -- what the window asks ---------------------------------------------------------

    def settled(self) -> bool:
        """Whether the present state is what was drawn; true where nothing is seen."""
        if self._view is None or self.visibleRegion().isEmpty():
            return True
        if any(one.isActive() for one in (self._soon, self._turn, self._rest)):
            return False
        return self._view.settled()

    def grab_image(self) -> Array | None:
        """What OpenGL drew: uint8 [height, width, 3]; None without OpenGL."""
        return self._view.image() if self._view is not None else None

    def release(self) -> None:
        """Disconnect from everything and let go of the graphics card."""
        self._leave()
        self._soon.stop()
        self._turn.stop()
        self._rest.stop()
        super().release()
        if self._view is not None:
            self._view.close_canvas()

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        tokens = self.tokens
        if self._view is not None:
            self._view.set_tokens(tokens)
            self.toolbar.apply(tokens)
        else:
            self.setStyleSheet(
                f"ScenePanel{{background:{tokens.scene_top};}}"
                f"#scene-missing{{color:{tokens.dim};}}"
            )
        self._schedule()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what changed while it was hidden."""
        super().showEvent(event)
        self._schedule()

    # -- building ---------------------------------------------------------------------

    def _build(self) -> None:
        # Late, since it imports vispy's OpenGL.
        from isoscope.widgets.scene.view import SceneView

        view = SceneView(self, self._make_toolbar)
        self._view = view
        self._director = Director(self.model, view.control)
        self._box.addWidget(view)
        self.setFocusProxy(view)
        view.clicked.connect(self._clicked)
        view.control.asked.connect(self._asked)
        view.double_clicked.connect(self._double_clicked)
        view.gizmo.picked.connect(self.look_along)
        view.resized.connect(self._first_view)
        view.failed.connect(self._drawing_failed, Qt.ConnectionType.QueuedConnection)

    def _make_toolbar(self, parent: QWidget) -> SceneToolbar:
        commands = {
            "frame": self.frame_selection,
            "track": self.toggle_tracking,
            "contacts": self.toggle_contacts,
            "trails": self.toggle_trails,
            "wireframe": self.toggle_wireframe,
            "overlay": self.cycle_overlay,
            "grid": self.toggle_grid,
            "beside": self.toggle_beside,
            "interpolate": self.toggle_interpolate,
        }
        self.toolbar = SceneToolbar(parent, lambda key: commands[key]())
        return self.toolbar

    def _explain(self, problem: str) -> None:
        """Say what is missing instead of a picture."""
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._box.addWidget(explanation(problem, self))

    def _drawing_failed(self, reason: str) -> None:
        view = self._view
        if view is None:
            return
        self._view = self._director = None
        view.close_canvas()
        self._box.removeWidget(view)
        view.hide()
        view.deleteLater()
        self._explain(f"Drawing failed: {one_line(reason)[:200]}")
        self.apply_theme()

    # -- following the session --------------------------------------------------------

    def _activated(self, document: object) -> None:
        self._leave()
        found = document if isinstance(document, Document) else None
        self._document = found
        self._given = False
        self.model.set_overlays(())
        self.model.forget_asked()
        if found is not None:
            self.observe(found.grown, self._schedule)
            self.observe(found.hidden_changed, self._schedule)
            self.observe(found.analysed, self._schedule)
            self.observe(found.hidden_envs_changed, self._schedule)
            self.observe(found.phase_changed, self._schedule)
            self.observe(found.replayed_changed, self._replay_changed)
        self.model.follow(None)
        if self._director is not None:
            self._director.resume(self._views.get(found) if found is not None else None)
        self._schedule()

    def _leave(self) -> None:
        document = self._document
        if document is None:
            return
        for signal in (
            document.grown,
            document.hidden_changed,
            document.analysed,
            document.hidden_envs_changed,
            document.phase_changed,
        ):
            self.unobserve(signal, self._schedule)
        self.unobserve(document.replayed_changed, self._replay_changed)
        kept = self._director.kept() if self._director is not None else None
        if kept is not None:
            self._views[document] = kept

    def _schedule(self, *_: object) -> None:
        # Once an event loop's turn, however much changed in it.
        if self._view is None or not self.isVisible():
            return
        document, follows = self._document, self.session.clock.state.follow
        if not follows or document is None or document.phase is not Phase.LIVE:
            self._soon.start()
        elif not self._turn.isActive():
            self._turn.start(0)

    def _refresh(self) -> None:
        view, document = self._view, self._document
        if view is None:
            return
        self._turn.stop()
        recording = document.recording if document is not None else None
        growing = (Phase.INDEXING, Phase.LIVE)
        ready = document is not None and document.phase not in growing
        new = self.model.follow(recording, look_again=ready)
        model = self.model
        view.empty.setText(nothing_to_draw(document))
        aspect = view.aspect
        if self.grid.on and document is not None:
            self._refresh_grid(view, document, new)
            return
        shown = self._isolate(document)
        if document is not None and self._refresh_past(view, document, new):
            return
        if document is not None and self.beside:
            self._refresh_pair(view, document, shown, new)
            return
        intent = self._intent(shown.row)
        between = between_of(self.session, document, shown.row)
        if self.model.overlay is not None and self.model.overlay.row is not None:
            between = None
        picture = model.picture(shown.row, intent, self.tokens, shown.whose, between)
        self._make_room(new)
        if self._director is not None:
            self._director.follow(intent.selected)
        caption = caption_of(
            model.shapes,
            model.state,
            intent,
            model.overlay,
            len(model.overlays),
            self._remark(shown),
            shown.tainted,
            interpolated(between),
            "native step" if recording is None else recording.row_is,
        )
        self._show_tools()
        view.show_picture(
            model.shapes,
            model.survey,
            picture,
            caption,
            wire=self.wireframe,
            forces=bool(np.isfinite(model.state.contacts.forces).any()),
        )
        if view.aspect != aspect:  # it was a grid
            self._first_view()

    def _refresh_grid(self, view: SceneView, document: Document, new: bool) -> None:
        model, tokens = self.model, self.tokens
        first = view.aspect
        picture, caption, complete = self.grid.follow(
            document, model, self.session.clock.row, tokens
        )
        cells = self.grid.cells
        view.show_grid(
            *(model.shapes, model.survey, picture, cells, caption), wire=self.wireframe
        )
        if new or self._beside or view.aspect != first:
            self._beside = ()
            self._first_view()
        if self._director is not None:
            self._director.follow(document.selection.actor)
        self.set_subtitle(f"grid of {len(cells)}")
        self._show_tools()
        if not complete:
            self._rest.start(0)

    def _refresh_pair(
        self, view: SceneView, document: Document, shown: Isolated, new: bool
    ) -> None:
        model, found = self.model, document.replayed
        if found is None:
            return
        aspect, without = view.aspect, self._intent(shown.row).hidden
        between = between_of(self.session, document, shown.row)
        picture, cells = self.pair.follow(
            found, model, shown, without, self.tokens, between
        )
        caption = pair_caption(found, self.session.clock.row, interpolated(between))
        self._show_tools()
        view.show_grid(
            *(model.shapes, model.survey, picture, cells, caption), wire=self.wireframe
        )
        if new or self._beside or view.aspect != aspect:
            self._beside = ()
            self._first_view()
        if self._director is not None:
            self._director.follow(document.selection.actor)
        self.set_subtitle("side by side")

    def _refresh_past(self, view: SceneView, document: Document, new: bool) -> bool:
        """Show a step past the recorded end, where the cursor is on one."""
        step, found, model = self.session.clock.beyond, document.past_end, self.model
        if not step or found is None or document.replayed is None:
            return False
        aspect, without = view.aspect, self._intent(found.after).hidden
        picture, cells, caption = self.past.follow(
            document.replayed.name, found, step, model, without, self.tokens
        )
        self._show_tools()
        view.show_grid(
            *(model.shapes, model.survey, picture, cells, caption), wire=self.wireframe
        )
        if new or self._beside or view.aspect != aspect:
            self._beside = ()
            self._first_view()
        if self._director is not None:
            self._director.follow(document.selection.actor)
        self.set_subtitle(f"{document.replayed.name}, past the recorded end")
        return True

    def _on_tick(self) -> None:
        if self.session.interpolate:
            self._schedule()

    def _replay_changed(self) -> None:
        self.model.forget_asked()
        self._schedule()

    # -- one environment of several ---------------------------------------------------

    def _isolate(self, document: Document | None) -> Isolated:
        """Whose state to show, with the overlays that it can be seen with."""
        cursor = self.session.clock.row
        if document is None:
            return Isolated(cursor, None)
        shown = isolated(document, cursor, self.tokens)
        self.model.labels = document.labels
        self.model.tint = shown.tint
        if not self._given:
            self.model.offer(shown.overlays)
        overlay = self.model.overlay
        parts = [f"env {document.focus}"] if document.focus is not None else []
        if overlay is not None:
            parts.append(f"overlay: {overlay.name}")
        self.set_subtitle(" · ".join(parts))
        return shown

    def _remark(self, shown: Isolated) -> str:
        overlay = self.model.overlay
        if overlay is not None and overlay.row is not None:
            return (
                f"how native step {self.session.clock.row:,} began: the state after "
                f"native step {overlay.row:,}"
            )
        return shown.note

    def _finding_changed(self) -> None:
        self.model.forget_asked()
        self._schedule()

    def _make_room(self, new: bool) -> None:
        """Choose the first view anew where an overlay stands beside, or did."""
        overlay = self.model.overlay
        offsets = () if overlay is None else tuple(g.offset for g in overlay.ghosts)
        beside = offsets if any(any(offset) for offset in offsets) else ()
        changed, self._beside = beside != self._beside, beside
        if new or changed:
            self._first_view()

    def _first_view(self) -> None:
        if self._view is not None and self._director is not None:
            self._director.opened(self._view.aspect)

    def _intent(self, row: int) -> Intent:
        document = self._document
        if document is None:
            return Intent()
        # Other scenes' bodies have no state in this row, and are not in its scene.
        owners = self.grid.owners
        owners.follow(document)
        scene = owners.scene_of(document.recording, row)
        return Intent(
            hidden=frozenset(document.hidden) | owners.elsewhere(scene),
            selected=document.selection.actor,
            contacts=self.contacts_shown,
            trails=self.trails_shown,
        )

    def _show_tools(self) -> None:
        show_tools(self, self._director is not None and self._director.tracking)

    # -- tools and views --------------------------------------------------------------

    def show_shortcuts(self, keys: Mapping[str, str]) -> None:
        """Say in the tooltips which keys the tools have, by the tools' names."""
        if self._view is not None:
            for tool, key in keys.items():
                self.toolbar.set_shortcut(tool, key)

    def _frame(self, low: Array, high: Array, *, chosen: bool = True) -> None:
        if self._view is not None and self._director is not None:
            self._view.control.touched |= chosen
            self._director.frame(low, high, self._view.aspect)
