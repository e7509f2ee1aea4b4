"""What the panels ask for, and what the window asks of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from PySide6.QtWidgets import QFileDialog

from isoscope.app.branch_view import BranchView
from isoscope.widgets.curate.panel import CuratePanel
from isoscope.widgets.export.panel import ExportPanel
from isoscope.widgets.findings.panel import FindingsPanel
from isoscope.widgets.replay.panel import ReplayPanel
from isoscope.widgets.sources.panel import SourcesPanel
from isoscope.widgets.timeline.panel import TimelinePanel

if TYPE_CHECKING:
    from psygnal import SignalInstance

    from isoscope.app.window.window import Window
    from isoscope.widgets.session import Document


@runtime_checkable
class SceneCommands(Protocol):
    """What a panel does that shows the scene."""

    def frame_selection(self) -> None:
        """Look at the selected actor or, without one, at everything."""
        ...

    def cycle_overlay(self) -> None:
        """Show the next overlay or, after the last, none."""
        ...

    def toggle_grid(self) -> None:
        """Show one small scene for each environment, or one scene."""
        ...

    def toggle_beside(self) -> None:
        """Show what was stepped again beside what was recorded, or as its ghost."""
        ...

    def toggle_contacts(self) -> None:
        """Show contacts, or not."""
        ...

    def toggle_trails(self) -> None:
        """Show trails, or not."""
        ...

    def toggle_wireframe(self) -> None:
        """Show edges only, or solid bodies."""
        ...


def wire_panels(window: Window) -> None:
    """Connect the panels that are there."""
    sources, scene = window.panels.get("sources"), window.panels.get("scene")
    workspace = window.workspace
    if isinstance(sources, SourcesPanel):
        sources.open_requested.connect(window.actions_by_id["file.open"].trigger)
        sources.cancel_requested.connect(workspace.cancel)
        sources.close_requested.connect(workspace.close)
        sources.reopen_requested.connect(workspace.reload)
        sources.twin_requested.connect(workspace.analysing.use_twin)
    _wire_curate(window)
    findings = window.panels.get("findings")
    if isinstance(findings, FindingsPanel):
        findings.alone_asked.connect(workspace.alone.start)
        findings.alone_stop_asked.connect(workspace.alone.cancel)
    window.diagnose.results.alone.asked.connect(workspace.alone.start)
    window.diagnose.results.alone.stop_asked.connect(workspace.alone.cancel)
    window.diagnose.waiting.asked.connect(workspace.checking.start)
    window.diagnose.waiting.stop_asked.connect(workspace.checking.cancel)
    replay = window.panels.get("replay")
    if isinstance(replay, ReplayPanel):
        workspace.replaying.show_in(replay)
        window.branches = BranchView(workspace.replaying, replay)
    if scene is not None and isinstance(scene, SceneCommands):
        window.actions_by_id.bind(
            scene,
            {
                "scene.frame": scene.frame_selection,
                "scene.overlay": scene.cycle_overlay,
                "scene.grid": scene.toggle_grid,
                "scene.beside": scene.toggle_beside,
                "scene.contacts": scene.toggle_contacts,
                "scene.trails": scene.toggle_trails,
                "scene.wireframe": scene.toggle_wireframe,
            },
        )


def _wire_curate(window: Window) -> None:
    """Connect Curate and Export, where both or one of them are."""
    workspace, timeline = window.workspace, window.panels.get("timeline")
    curate, export = window.panels.get("curate"), window.panels.get("export")
    if isinstance(curate, CuratePanel):
        curate.wanted.connect(workspace.curating.want)
        curate.transitions_asked.connect(
            lambda document: ask_transitions(window, document)
        )
        curate.export_asked.connect(window.show_export)
        if isinstance(timeline, TimelinePanel):
            ranged, loop = timeline, curate.range_of
            curate.range_of = lambda: ranged.selected_range or loop()
        window.actions_by_id.bind(
            curate, {f"curate.{key}": call for key, call in curate.commands.items()}
        )
    if isinstance(export, ExportPanel):
        workspace.exporting.show_in(export)
        export.wanted.connect(workspace.curating.want)
        if isinstance(curate, CuratePanel):
            chooser = curate
            export.episode_asked.connect(chooser.choose)


def ask_transitions(window: Window, document: Document) -> None:
    """Ask for the file that has a bare recording's actions; the window goes on."""
    dialog = QFileDialog(
        window, f"Transitions of {document.name}", "", "Transitions (*.json *.npz)"
    )
    path = document.recording.path
    if path is not None:
        dialog.setDirectory(str(path.parent))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.setModal(False)
    dialog.fileSelected.connect(
        lambda name: window.workspace.curating.use_transitions(document, Path(name))
    )
    dialog.finished.connect(dialog.deleteLater)
    dialog.show()


def told_of(document: Document) -> tuple[SignalInstance, ...]:
    """The signals of a document that what the window says of it goes by."""
    return (
        document.phase_changed,
        document.progress_changed,
        document.analysing_changed,
        document.analysed,
        document.live_changed,
    )


def show_problems(window: Window) -> None:
    """Lead to the list of what the active recording has wrong."""
    document, sources = window.session.active, window.panels.get("sources")
    window.docks.raise_panel("sources")
    if document is not None and isinstance(sources, SourcesPanel):
        sources.show_problems(document)
