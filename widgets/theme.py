"""Colours and sizes that every panel draws with; no Qt.

A colour is ``"#rrggbb"``. Nothing is told by colour alone: whoever uses one of these
for a state adds a shape or a word.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one theme.

    Attributes
    ----------
    window, panel, raised, border
        Backgrounds from back to front, and the hairline between them.
    text, dim, faint
        Text, secondary text, disabled text and grid lines.
    accent, accent_text
        The playhead, selections and the primary button, and text upon it.
    error, warning, ok
        States.
    scene_top, scene_bottom, ground
        The 3D view's background gradient and grid lines.
    contact
        Contact points and force arrows.
    environments
        Colour of environment e: ``environments[e % len(environments)]``.
    """

    name: str
    window: str
    panel: str
    raised: str
    border: str
    text: str
    dim: str
    faint: str
    accent: str
    accent_text: str
    error: str
    warning: str
    ok: str
    scene_top: str
    scene_bottom: str
    ground: str
    contact: str
    environments: tuple[str, ...]

    def environment(self, env: int) -> str:
        """Colour of an environment; dim where it is unknown (below 0)."""
        if env < 0:
            return self.dim
        return self.environments[env % len(self.environments)]


DARK = Tokens(
    name="dark",
    window="#14171c",
    panel="#1c1f26",
    raised="#252932",
    border="#2f343e",
    text="#dde1e8",
    dim="#949ba8",
    faint="#4a505c",
    accent="#6ea8ff",
    accent_text="#0d1420",
    error="#ff6b6b",
    warning="#f2b04b",
    ok="#63c082",
    scene_top="#22262e",
    scene_bottom="#121418",
    ground="#3a404b",
    contact="#ffd54a",
    environments=(
        "#4c9bea",
        "#e0983c",
        "#5fb37b",
        "#c678dd",
        "#e0646f",
        "#4fb3b8",
        "#d7b377",
        "#869cff",
    ),
)

LIGHT = Tokens(
    name="light",
    window="#e9ecf0",
    panel="#ffffff",
    raised="#f3f5f8",
    border="#d3d8df",
    text="#1d222a",
    dim="#5f6877",
    faint="#bcc3ce",
    accent="#2b6be0",
    accent_text="#ffffff",
    error="#c62f3a",
    warning="#9a6100",
    ok="#23804a",
    scene_top="#f4f6f9",
    scene_bottom="#dfe4ea",
    ground="#c3cad4",
    contact="#c2185b",
    environments=(
        "#2a78c8",
        "#b86e12",
        "#2f8a50",
        "#9a4bb5",
        "#c23b47",
        "#22858a",
        "#94723a",
        "#5468d4",
    ),
)

THEMES = {theme.name: theme for theme in (DARK, LIGHT)}


def tokens(name: str) -> Tokens:
    """The theme of this name; dark if there is none."""
    return THEMES.get(name, DARK)
