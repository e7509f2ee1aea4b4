"""Shows by the scene's tools what is on, and which have nothing to do, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.widgets.scene.panel import ScenePanel


def show_tools(panel: ScenePanel, tracking: bool) -> None:
    """Bring the toolbar up to date.

    Parameters
    ----------
    tracking
        Whether the camera goes along with what is chosen.
    """
    tools, model = panel.toolbar, panel.model
    tools.set_checked("track", tracking)
    tools.set_checked("contacts", panel.contacts_shown)
    tools.set_checked("trails", panel.trails_shown)
    tools.set_checked("wireframe", panel.wireframe)
    tools.set_checked("grid", panel.grid.on)
    tools.set_checked("beside", panel.beside)
    tools.set_checked("interpolate", panel.session.interpolate)
    several = panel.grid.on or panel.beside
    tools.set_shown("overlay", bool(model.overlays) and not several)
    document = panel.session.active
    again = document is not None and document.replayed is not None
    tools.set_shown("beside", again and not panel.grid.on)
    for key in ("contacts", "trails"):
        tools.button(key).setEnabled(not several)
    if several:
        where = "in the grid" if panel.grid.on else "side by side"
        for key in ("contacts", "trails"):
            tools.set_note(key, f"Not {where}.")
        return
    tools.set_note("trails", "")
    recorded = model.state.contacts.recorded or not panel.contacts_shown
    note = "" if recorded else "No contacts were recorded up to here."
    tools.set_note("contacts", note)
