"""What the panels ask for, and what the window asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from isoscope.widgets.sources.panel import SourcesPanel

if TYPE_CHECKING:
    from isoscope.app.window.window import Window


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
    if scene is not None and isinstance(scene, SceneCommands):
        window.actions_by_id.bind(
            scene,
            {
                "scene.frame": scene.frame_selection,
                "scene.overlay": scene.cycle_overlay,
                "scene.grid": scene.toggle_grid,
                "scene.contacts": scene.toggle_contacts,
                "scene.trails": scene.toggle_trails,
                "scene.wireframe": scene.toggle_wireframe,
            },
        )


def show_problems(window: Window) -> None:
    """Lead to the list of what the active recording has wrong."""
    document, sources = window.session.active, window.panels.get("sources")
    window.docks.raise_panel("sources")
    if document is not None and isinstance(sources, SourcesPanel):
        sources.show_problems(document)
