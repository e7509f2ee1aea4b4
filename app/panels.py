"""Which panels there are: a table with late imports, and the way to make one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from isoscope.app.extras import needs

if TYPE_CHECKING:
    from isoscope.widgets.panel import Panel
    from isoscope.widgets.session import Session

TRANSPORT = "transport"

# In the order of the menu. All but the transport, which has its own place, are docks.
PANELS: dict[str, str] = {
    "sources": "isoscope.widgets.sources.panel:SourcesPanel",
    "scene": "isoscope.widgets.scene.panel:ScenePanel",
    "timeline": "isoscope.widgets.timeline.panel:TimelinePanel",
    "signals": "isoscope.widgets.signals.panel:SignalsPanel",
    "clocks": "isoscope.widgets.clocks.panel:ClocksPanel",
    "costs": "isoscope.widgets.costs.panel:CostsPanel",
    "replay": "isoscope.widgets.replay.panel:ReplayPanel",
    "findings": "isoscope.widgets.findings.panel:FindingsPanel",
    "curate": "isoscope.widgets.curate.panel:CuratePanel",
    "export": "isoscope.widgets.export.panel:ExportPanel",
    "inspector": "isoscope.widgets.inspector.panel:InspectorPanel",
    "transport": "isoscope.widgets.transport.panel:TransportPanel",
}


def make_panel(key: str, session: Session, where: str | None = None) -> Panel:
    """Import and make the panel of this key.

    Parameters
    ----------
    key
        As in `PANELS`.
    session
        What it shows.
    where
        Its ``module:class``, if it isn't the table's.

    Raises
    ------
    IsoscopeError
        If a package or a system library is missing that it draws with.
    """
    module_name, _, class_name = (where or PANELS[key]).partition(":")
    with needs(f"the {key} panel"):
        module = importlib.import_module(module_name)
    panel: Panel = cast("type[Panel]", getattr(module, class_name))(session)
    if panel.key != key:
        raise AssertionError(f"{module_name} calls itself {panel.key!r}, not {key!r}")
    return panel
